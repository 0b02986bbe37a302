// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogConfiguration

/// The liveness probe options of `watchdogd run`.
struct ProbeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Check that the program responds: tcp:ADDR, unix:PATH, http://ADDR/PATH or exec:CMD.", valueName: "what"),
        transform: RunOptions.probe
    )
    var probe: ProbeSettings?

    @Option(help: ArgumentHelp("Time between probes (default: 3s).", valueName: "span"), transform: RunOptions.span)
    var probeInterval: Duration?

    @Option(
        help: ArgumentHelp("Time limit for one probe (default: 3s).", valueName: "span"), transform: RunOptions.span)
    var probeTimeout: Duration?

    @Option(help: ArgumentHelp("Consecutive failures that count as a hang (default: 3).", valueName: "count"))
    var probeThreshold: Int?

    @Option(
        help: ArgumentHelp("HTTP status codes that count as success (default: 200-399).", valueName: "codes"),
        transform: RunOptions.statuses
    )
    var probeStatus: ProbeStatuses?

    @Option(help: ArgumentHelp("Text that the HTTP response body must contain.", valueName: "text"))
    var probeBody: String?

    func validate() throws {
        let isHTTP = if case .http? = probe?.target { true } else { false }
        let options: [(name: String, isGiven: Bool, isForHTTP: Bool)] = [
            ("probe-interval", probeInterval != nil, false), ("probe-timeout", probeTimeout != nil, false),
            ("probe-threshold", probeThreshold != nil, false), ("probe-status", probeStatus != nil, true),
            ("probe-body", probeBody != nil, true),
        ]
        for option in options where option.isGiven {
            guard probe != nil else { throw ValidationError("--\(option.name) has no effect without --probe") }
            guard isHTTP || !option.isForHTTP else {
                throw ValidationError("--\(option.name) applies only to --probe http://ADDR/PATH")
            }
        }
        if let probeThreshold, !(1...1_000).contains(probeThreshold) {
            throw ValidationError("--probe-threshold \(probeThreshold) is out of range; use 1 to 1000")
        }
        if let probeBody, probeBody.isEmpty || probeBody.utf8.count > 1_024 {
            throw ValidationError("--probe-body must be 1 to 1024 bytes; leave it out to accept any body")
        }
    }

    /// The combined settings; nil without `--probe`.
    var settings: ProbeSettings? {
        guard var settings = probe else { return nil }
        settings.interval = probeInterval ?? settings.interval
        settings.timeout = probeTimeout ?? settings.timeout
        settings.threshold = probeThreshold ?? settings.threshold
        if case .http(var request) = settings.target {
            request.statuses = probeStatus?.ranges ?? request.statuses
            request.body = probeBody
            settings.target = .http(request)
        }
        return settings
    }
}
