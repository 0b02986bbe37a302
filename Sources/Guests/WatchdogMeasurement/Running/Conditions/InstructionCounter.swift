// SPDX-License-Identifier: Apache-2.0

import CLinux
import WatchdogLinux

/// Counts the instructions that measured programs execute in user mode.
///
/// Unlike CPU time, this hardly depends on what else the machine does. It costs the programs nothing that could be measured.
struct InstructionCounter {
    private let counter: OwnedDescriptor?

    /// Opens the counter; call it before the first launch, on the thread that makes the launches.
    ///
    /// Without permission, or on a machine without such a counter, ``count`` is always nil.
    init() {
        let number = wd_instructions_open()
        counter = number >= 0 ? OwnedDescriptor(taking: number) : nil
    }

    /// The sum over all launches so far; nil if unknown.
    var count: Int64? {
        guard let counter else { return nil }
        let count = wd_instructions_read(counter.number)
        return count >= 0 ? count : nil
    }
}
