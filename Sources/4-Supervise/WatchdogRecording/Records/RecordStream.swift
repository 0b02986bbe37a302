// SPDX-License-Identifier: Apache-2.0

/// A place in a program's startup at which a breakpoint can be set.
public enum LaunchBoundary: String, Hashable, Sendable, CaseIterable {
    /// The dynamic linker's first instruction.
    case linker
    /// `_dl_debug_state` of the dynamic linker: called before it maps libraries, and again when all are relocated.
    ///
    /// musl calls it once, when all are relocated.
    case debugState
    /// The program's first instruction, `AT_ENTRY`: the libraries' constructors have run.
    case entry
    /// `main`.
    case main
}

/// The content of an event's records; each record has the ID of its event.
public enum RecordStream: Hashable, Sendable {
    /// Mappings, names, forks, exits and switches of the program.
    case task
    /// The scheduler's `sched_switch` of all CPUs.
    case schedulerSwitch
    /// The scheduler's `sched_waking` of all CPUs.
    case schedulerWaking
    /// `raw_syscalls:sys_enter` of the program.
    case systemCall
    /// Samples of the main thread's stack.
    case clock
    /// The n-th executed program reached a boundary.
    case boundary(LaunchBoundary, program: Int)
    /// A constructor began: the index of its probe in ``LaunchLog/probes``.
    case constructor(Int)
}
