// SPDX-License-Identifier: Apache-2.0

package import WatchdogBase
package import WatchdogLaunch
import WatchdogMetrics

/// A source of metrics: a daemon, or the run of one program.
///
/// Isolation: the loop's thread.
package protocol MetricsSource: AnyObject {
    var host: Host { get }
    var disks: DiskReading { get }
    var metrics: MetricsCollection { get }
    /// The apps in the order of the text.
    var appNames: [String] { get }
    /// When it began to count, since 1970-01-01 00:00 UTC.
    var started: Duration { get }
    /// Configuration files that cannot be used.
    var invalidFileCount: Int { get }
    /// Reports that could not be written.
    var failedReports: Int { get }
    /// Lines that standard error has not accepted.
    var droppedLines: Int { get }

    /// What is known of an app; nil if it is gone.
    ///
    /// - Parameters:
    ///   - now: the time of the reading.
    ///   - wall: the same, since 1970-01-01 00:00 UTC.
    func reading(of name: String, at now: Instant, _ wall: Duration) -> MetricsCollection.Reading?

    /// A line for the operator.
    func say(_ line: String)
}

extension Daemon: MetricsSource {
    var invalidFileCount: Int { configuration.invalidFiles.count }
    var droppedLines: Int { announcer.droppedLines }

    func reading(of name: String, at now: Instant, _ wall: Duration) -> MetricsCollection.Reading? {
        apps[name].map { app in
            MetricsCollection.Reading(app: AppReading(of: app, at: now, wall), cgroup: app.live?.shell.cgroup)
        }
    }

    func say(_ line: String) { announcer.say(line) }
}
