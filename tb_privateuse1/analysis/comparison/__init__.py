"""Compare the steps of two traces.

``reasons`` explains the change of the step. ``call_places`` and ``changed_calls`` match the work of
both traces, and ``changed_inputs`` compares its inputs. ``time_cells`` divides the time of the
steps, ``reason_groups`` gives each part one reason, and ``reason_texts`` writes it.

``left_out`` names the work that only the steps left out of one trace have. ``conditions`` has what
else differs, and ``notes`` says what makes traces less comparable.
``items_per_step`` has the time of a trace's steps by operator, kernel or module; ``rows`` compares
it, and ``kernel_matches`` matches kernels with other names. ``decomposition`` finds operators that
launch more kernels in one trace. ``memory`` compares memory by device and operator.
``significance`` separates changes from noise, in pairs of steps where the program repeats
(``repeats``), and ``trend`` compares many recordings.

``baseline`` has the figures of a workload's runs (``run_figures``, ``run_operators``, by
``step_figures``), and ``baseline_check`` compares runs with it, by ``run_noise`` and limits that
``amounts`` reads.
"""

__all__ = [
    "alive_memory",
    "amounts",
    "baseline",
    "baseline_check",
    "conditions",
    "decomposition",
    "items_per_step",
    "kernel_matches",
    "left_out",
    "memory",
    "notes",
    "parameters",
    "reasons",
    "repeats",
    "rows",
    "run_figures",
    "run_noise",
    "significance",
    "trend",
    "trials",
]
