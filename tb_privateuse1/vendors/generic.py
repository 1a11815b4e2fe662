"""Any other device: what torch itself writes for a PrivateUse1 backend."""

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.vendor import Vendor

VENDOR = Vendor(
    name="generic",
    title=say("PrivateUse1 device"),
    device_types=(20,),
    device_type_name="PrivateUse1",
)
