// SPDX-License-Identifier: Apache-2.0

package import WatchdogCapture
import WatchdogVerdict

/// The stacks of a report that lack names.
package struct UnnamedStacks: Sendable {
    /// Those of the main process; nil if they have names.
    package var main: Snapshot?
    /// Its samples; nil if they have names.
    package var sampling: Sampling?
    /// Those of other processes, with or without names.
    var others: OtherStacks?

    package var isEmpty: Bool { main == nil && sampling == nil && others?.isShort != true }

    /// What they hold.
    var cost: StackBacklog.Cost {
        var cost = others?.cost ?? StackBacklog.Cost()
        for snapshot in [main, sampling?.snapshot].compactMap(\.self) { cost.add(snapshot) }
        return cost
    }
}

extension ProcessSamples {
    /// The samples, if their stacks were found in the same way as those of the capture: without files, a stack also has
    /// addresses that are no calls.
    func comparable(with captured: CapturedProcess?) -> ProcessSamples? {
        captured == nil || (captured?.shortage == nil) == (shortage == nil) ? self : nil
    }
}
