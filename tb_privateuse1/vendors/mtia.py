"""Vendor: Meta's MTIA, whose kernels have a category of their own."""

from tb_privateuse1.trace.vendor import Vendor

VENDOR = Vendor(
    name="mtia",
    title="Meta MTIA",
    backends=("mtia",),
    device_types=(19,),
    device_type_name="MTIA",
    evidence_categories=frozenset({"mtia_ccp_events", "mtia_runtime"}),
    kernel_categories=frozenset({"kernel", "mtia_ccp_events"}),
)
