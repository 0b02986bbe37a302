// SPDX-License-Identifier: Apache-2.0

/// A place in a program's start-up at which it is noticed.
public enum LaunchBoundary: String, Hashable, Sendable, CaseIterable {
    /// The dynamic linker's first instruction.
    case linker
    /// `_dl_debug_state` of the dynamic linker: before it maps libraries, and when all are relocated.
    ///
    /// musl calls it once, when all are relocated.
    case debugState
    /// The program's first instruction, `AT_ENTRY`: the libraries' constructors have run.
    case entry
    /// `main`.
    case main
}

/// What an event records; a record names its event by an id.
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
