// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogConfiguration

/// The liveness probe options of `watchdogd run`.
struct ProbeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Find out whether it lives: tcp:ADDR, unix:PATH, http://ADDR/PATH or exec:CMD.", valueName: "what"),
        transform: RunOptions.probe
    )
    var probe: ProbeSettings?

    @Option(help: ArgumentHelp("Time from one probe to the next; 3s.", valueName: "span"), transform: RunOptions.span)
    var probeInterval: Duration?

    @Option(help: ArgumentHelp("Time for a probe; 3s.", valueName: "span"), transform: RunOptions.span)
    var probeTimeout: Duration?

    @Option(help: ArgumentHelp("So many failures in a row are a hang; 3.", valueName: "count"))
    var probeThreshold: Int?

    @Option(
        help: ArgumentHelp("HTTP status codes that are a success; 200-399.", valueName: "codes"),
        transform: RunOptions.statuses
    )
    var probeStatus: ProbeStatuses?

    @Option(help: ArgumentHelp("What the body of the HTTP answer must contain.", valueName: "text"))
    var probeBody: String?

    func validate() throws {
        let isHTTP = if case .http? = probe?.target { true } else { false }
        let options: [(name: String, isGiven: Bool, isForHTTP: Bool)] = [
            ("probe-interval", probeInterval != nil, false), ("probe-timeout", probeTimeout != nil, false),
            ("probe-threshold", probeThreshold != nil, false), ("probe-status", probeStatus != nil, true),
            ("probe-body", probeBody != nil, true),
        ]
        for option in options where option.isGiven {
            guard probe != nil else { throw ValidationError("--\(option.name) is without effect; add --probe") }
            guard isHTTP || !option.isForHTTP else {
                throw ValidationError("--\(option.name) is about an answer to --probe http://ADDR/PATH; leave it out")
            }
        }
        if let probeThreshold, !(1...1_000).contains(probeThreshold) {
            throw ValidationError("--probe-threshold \(probeThreshold) is out of range; use 1 to 1000")
        }
        if let probeBody, probeBody.isEmpty || probeBody.utf8.count > 1_024 {
            throw ValidationError("--probe-body takes 1 to 1024 bytes; for any body leave it out")
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
