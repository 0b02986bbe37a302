// SPDX-License-Identifier: Apache-2.0

/// Series with the same name and meaning.
public struct MetricFamily: Hashable, Sendable {
    /// The type of a family's values.
    public enum Kind: String, Hashable, Sendable {
        /// Only increases, until the daemon restarts.
        case counter
        /// Increases and decreases.
        case gauge
        /// Counts durations in buckets.
        case histogram
    }

    /// The name, with its unit.
    public let name: String
    /// The type of the values.
    public let kind: Kind
    /// The help text: one sentence for people.
    public let help: String

    /// Creates a family; the name must be valid in the exposition format.
    public init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }
}

extension MetricFamily {
    // MARK: - The daemon

    static let buildInfo = MetricFamily("watchdogd_build_info", .gauge, "Version of watchdogd; the value is always 1.")
    static let started = MetricFamily(
        "watchdogd_start_time_seconds", .gauge, "Unix time at which watchdogd began to count.")
    static let apps = MetricFamily("watchdogd_apps", .gauge, "Configured apps.")
    static let invalidFiles = MetricFamily(
        "watchdogd_invalid_files", .gauge, "Configuration files that cannot be used, so that their apps are missing.")
    static let loopLateness = MetricFamily(
        "watchdogd_loop_lateness_seconds", .histogram, "How late the loop woke for its timers.")
    static let longestTurn = MetricFamily(
        "watchdogd_loop_longest_turn_seconds", .gauge, "Longest turn of the loop in the last minute.")
    static let failedReports = MetricFamily(
        "watchdogd_report_failures_total", .counter, "Reports that could not be written.")
    static let droppedMessages = MetricFamily(
        "watchdogd_messages_dropped_total", .counter, "Messages that the journal or standard error did not take.")

    // MARK: - Apps

    static let appInfo = MetricFamily(
        "watchdogd_app_info", .gauge, "Configuration and version of the app; the value is always 1.")
    static let appState = MetricFamily("watchdogd_app_state", .gauge, "Whether the app is in this state.")
    static let appAnswering = MetricFamily(
        "watchdogd_app_answering", .gauge,
        "Whether the app is ready and owes no answer: no ping, probe or push is late.")
    static let appStopped = MetricFamily(
        "watchdogd_app_stopped_by_signal", .gauge, "Whether a signal has stopped the app's process.")
    static let appStart = MetricFamily(
        "watchdogd_app_start_time_seconds", .gauge, "Unix time of the current launch.")
    static let appReady = MetricFamily(
        "watchdogd_app_ready_time_seconds", .gauge, "Unix time at which the current launch became ready.")
    static let appAnswer = MetricFamily(
        "watchdogd_app_last_answer_time_seconds", .gauge,
        "Unix time of the last answer of the current launch, to a probe too.")
    static let appIncident = MetricFamily(
        "watchdogd_app_last_incident_time_seconds", .gauge, "Unix time of the last incident.")
    static let appAllowance = MetricFamily("watchdogd_app_allowance_seconds", .gauge, "Allowances in force.")
    static let appLaunches = MetricFamily("watchdogd_app_launches_total", .counter, "Processes started.")
    static let appLaunchFailures = MetricFamily(
        "watchdogd_app_launch_failures_total", .counter, "Launches that started no process.")
    static let appTerminations = MetricFamily(
        "watchdogd_app_terminations_total", .counter, "Ends of the app's process, by what ended it.")
    static let appIncidents = MetricFamily(
        "watchdogd_app_incidents_total", .counter, "Allowances that ran out, by what the app was watched for.")
    static let appVerdicts = MetricFamily(
        "watchdogd_app_verdicts_total", .counter, "Incidents, hangs and crashes, by what the main thread did.")
    static let appFaults = MetricFamily(
        "watchdogd_app_faults_total", .counter, "Incidents, hangs and crashes, by whose fault they are.")
    static let appLaunchDuration = MetricFamily(
        "watchdogd_app_launch_duration_seconds", .histogram, "Time from execve until ready.")
    static let appLaunchPhase = MetricFamily(
        "watchdogd_app_launch_phase_duration_seconds", .histogram, "Time that each phase until ready took.")
    static let appPingDuration = MetricFamily(
        "watchdogd_app_ping_duration_seconds", .histogram, "Time in which the main loop answered pings.")
    static let appHangDuration = MetricFamily(
        "watchdogd_app_hang_duration_seconds", .histogram, "Hangs of the main loop that ended by themselves.")
    static let appProbeDuration = MetricFamily(
        "watchdogd_app_probe_duration_seconds", .histogram, "Duration of successful liveness probes.")
    static let appProbeFailures = MetricFamily(
        "watchdogd_app_probe_failures_total", .counter, "Liveness probes that failed while the app was ready.")
    static let appReloadDuration = MetricFamily(
        "watchdogd_app_reload_duration_seconds", .histogram, "Duration of successful reloads.")
    static let appRunning = MetricFamily(
        "watchdogd_app_running_seconds_total", .counter, "Time for which the app was ready: the base of hang rates.")
    static let appCPU = MetricFamily(
        "watchdogd_app_cpu_seconds_total", .counter, "CPU time of the app's processes in the current launch.")
    static let appMemory = MetricFamily(
        "watchdogd_app_memory_bytes", .gauge, "Memory of the app's processes, as its cgroup counts it.")
}
