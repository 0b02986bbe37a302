// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
package import WatchdogPolicy

extension AppSpec {
    /// Read once: glibc opens a file of sysfs each time, which would be part of every launch.
    private static let processorCount = Machine.processorCount

    /// The same spec, with what the policy needs to know of this machine.
    package var onThisMachine: AppSpec {
        var copy = self
        copy.lifecycle.processorCount = Self.processorCount
        return copy
    }
}
