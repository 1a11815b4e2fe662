"""Tables and codes of Ascend's profiler databases that are read.

Source: CANN's documentation of the files ("Data in ascend_pytorch_profiler_{Rank_ID}.db",
"Description of .db Data Exported by msprof"), and the writers in torch_npu (profiler/analysis) and
msprof. Times are Unix times in ns, sizes are bytes. Names are ids of ``STRING_IDS``.
"""

from __future__ import annotations

HARDWARE = "Ascend Hardware"
"""The name of the device's process."""

STRINGS = "STRING_IDS"
OPS = "PYTORCH_API"
CALLS = "CANN_API"
TASKS = "TASK"
COMPUTE = "COMPUTE_TASK_INFO"
COLLECTIVES = "COMMUNICATION_OP"
PARTS_OF_COLLECTIVES = "COMMUNICATION_TASK_INFO"
SCHEDULES = "COMMUNICATION_SCHEDULE_TASK_INFO"
COPIES = "MEMCPY_INFO"
CONNECTIONS = "CONNECTION_IDS"
STACKS = "PYTORCH_CALLCHAINS"
MARKS = "MSTX_EVENTS"
BLOCKS = "OP_MEMORY"
STEPS = "STEP_TIME"
DEVICES = "NPU_INFO"
RANKS = "RANK_DEVICE_MAP"
HOST = "HOST_INFO"
FACTS = "META_DATA"
ELEMENT_TYPES = "ENUM_HCCL_DATA_TYPE"

EVENT_TABLES = (OPS, CALLS, TASKS, COLLECTIVES, MARKS, BLOCKS, STEPS)
"""The tables with events, in the order in which their rows are numbered."""

TABLES = (
    *EVENT_TABLES, STRINGS, COMPUTE, PARTS_OF_COLLECTIVES, SCHEDULES, COPIES, CONNECTIONS, STACKS,
    DEVICES, RANKS, HOST, FACTS, ELEMENT_TYPES,
)  # fmt: skip

OPERATOR, QUEUE, FRAME = 50001, 50002, 50003
"""``PYTORCH_API.type``: an operator, a task queue's enqueue or dequeue, a Python frame."""

LEVELS = {
    20000: "AscendCL",
    15000: "Model",
    10000: "Node",
    5500: "Communication",
    5000: "Runtime",
}
"""``CANN_API.type``, as ``trace_view.json`` spells it in front of a call's name."""

FIRST_HOST_CONNECTION = 5 << 28
"""Connections from here on are between host ranges; those below lead to the device."""

ELEMENTS = {
    "INT8": "char", "UINT8": "byte", "INT16": "short", "UINT16": "short", "INT32": "int",
    "UINT32": "int", "INT64": "long", "UINT64": "long", "FP16": "half", "BFP16": "bfloat16",
    "FP32": "float", "FP64": "double", "FP8E4M3": "float8_e4m3fn", "FP8E5M2": "float8_e5m2",
}  # fmt: skip
"""The library's names of element types, as torch's."""

PRIVATEUSE1 = 20
"""The device type of torch that this device has (c10/core/DeviceType.h)."""

NAMED = (
    "name", "opName", "groupName", "taskType", "opType", "algType", "inputFormats", "inputShapes",
    "inputDataTypes", "inputDtypes", "outputFormats", "outputDataTypes", "outputShapes", "message",
    "attrInfo", "opState",
)  # fmt: skip
"""Columns that hold ids of strings."""
