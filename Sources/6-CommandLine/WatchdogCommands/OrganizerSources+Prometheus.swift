// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogFleet
import WatchdogHistory
import WatchdogLaunch
import WatchdogLinux

extension OrganizerSources {
    func readRates(_ address: WebAddress, into organizer: Organizer) throws {
        let request = WebRequest(to: address)
        let rates = PrometheusRates(since: since, host: location.host, now: .now())
        do {
            try rates.read(into: organizer, app: app) { path in
                let answer = try request.get(path)
                return (answer.status, answer.body)
            }
        } catch let failure as WebRequest.Failure {
            throw Self.unavailable(address, failure.reason)
        } catch let failure as PrometheusAnswer.Failure {
            throw Self.unavailable(address, failure.reason)
        }
    }

    private static func unavailable(_ address: WebAddress, _ reason: String) -> ExitCode {
        StandardError.say("--prometheus: \(address) \(reason)")
        return ExitCode(69)
    }
}
