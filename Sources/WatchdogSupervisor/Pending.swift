// SPDX-License-Identifier: Apache-2.0
import WatchdogCapture
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

struct ThreadSchedule { var runTime = Duration.zero; var runDelay = Duration.zero }
struct SystemTime { var user = Duration.zero; var system = Duration.zero; static func read() -> SystemTime? { nil } }
struct ProcessObservation {
    init(of pid: Int32) {}
    func schedule() -> ThreadSchedule? { nil }
    func state() -> Character? { nil }
    func tracer() -> Int32? { nil }
    func systemCall() -> String? { nil }
    func waitChannel() -> String? { nil }
    func cpuTime() -> Duration? { nil }
    func executable() -> String? { nil }
}
struct ListeningAddress {
    init(parsing: String) throws {}
    func isListening(in pid: Int32) -> Bool { false }
}
extension WallTime { static func now() -> WallTime { WallTime(seconds: 0) } }
extension HostFacts {
    static func current() -> HostFacts {
        HostFacts(
            osName: "", kernelRelease: "", machineModel: "", hostName: "", uptimeSeconds: 0, crashReporterKey: "",
            processorCount: 1)
    }
}
func suspendedTimeNow() -> Duration { .zero }
struct Symbolicator: Sendable { func symbolicate(_ s: Snapshot) -> CapturedProcess? { nil } }
