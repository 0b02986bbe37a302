// SPDX-License-Identifier: Apache-2.0

internal import WatchdogBase

/// The launch options and the allowances of an app.
public struct LaunchSettings: Sendable {
    /// The launch allowance; watchdogd's default is 20 s.
    public var launch: Duration?
    /// The allowance of an answer of the main loop; watchdogd's default is 10 s.
    public var update: Duration?
    /// The allowance of an exit after the request; watchdogd's default is 5 s.
    public var terminate: Duration?
    /// The allowance of open tasks in the background; watchdogd's default is 30 s.
    public var backgroundTime: Duration?
    /// The time from one ping to the next, which is also the error in the measured length of a hang.
    public var pingInterval: Duration = .milliseconds(100)
    /// The shortest hang that gets a crash log although it ends by itself; watchdogd's default is 1 s, the minimum 250
    /// ms.
    ///
    /// The time is not scaled. The app's threads stop briefly while the hang is examined, and a crash log delays the
    /// end of an app whose hang has just ended.
    public var hangReports: Duration?
    /// The factor that multiplies all allowances, so that a test of a 20 s allowance need not take 20 s.
    public var timeScale: Double = 1
    /// The readiness source of the program, as for `watchdogd run --readiness`.
    public var readiness: String?
    /// Whether an exhausted allowance only causes a report, and the app continues.
    public var reportsOnly = false
    /// The faults to inject and their times, as for `watchdogd run --fault`.
    ///
    /// For example `stop 2s at ready+1s`; the times are not scaled.
    public var faults: [String] = []
    /// Variables that are set in addition to the test's own.
    public var environment: [String: String] = [:]
    /// The directory to run in; nil for the test's own.
    public var workingDirectory: String?

    /// Creates settings with the defaults.
    public init() {}

    /// Creates settings with the given allowances, and defaults for everything else.
    public init(
        launch: Duration? = nil, update: Duration? = nil, terminate: Duration? = nil, backgroundTime: Duration? = nil,
        timeScale: Double = 1, environment: [String: String] = [:]
    ) {
        (self.launch, self.update, self.terminate) = (launch, update, terminate)
        (self.backgroundTime, self.timeScale, self.environment) = (backgroundTime, timeScale, environment)
    }

    /// The settings that a trait has set for the current test.
    @TaskLocal static var inherited = LaunchSettings()

    /// The options of `watchdogd run`.
    var options: [String] {
        // The interval is for precision and not an allowance, so it is not scaled.
        var options: [String] = ["--ping", (pingInterval / timeScale).text, "--time-scale", "\(timeScale)"]
        for (option, value) in [
            ("--launch", launch), ("--update", update), ("--terminate", terminate),
            ("--background-time", backgroundTime), ("--hang-reports", hangReports),
        ] {
            if let value { options += [option, value.text] }
        }
        if let readiness { options += ["--readiness", readiness] }
        if reportsOnly { options += ["--enforce", "report"] }
        for fault in faults { options += ["--fault", fault] }
        if let workingDirectory { options += ["--chdir", workingDirectory] }
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) { options += ["--env", "\(name)=\(value)"] }
        return options
    }
}

extension Duration {
    /// The span as options write it.
    fileprivate var text: String { "\(nanoseconds)ns" }
}
