// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux
import WatchdogPolicy

extension Outcome {
    /// The exit code of a run that ended this way.
    ///
    /// - Parameter failure: the reason why the program was not started.
    func exitCode(ofFailure failure: (any Error)?) -> Int32 {
        switch cause {
        case .spawnFailed:
            guard let error = failure as? SpawnError, error.stage == .execute else { return 125 }
            return error.shellCode
        case .watchdog:
            return 137
        case .exited, .terminated, .killedOnRequest:
            return status?.shellCode ?? 137
        }
    }
}
