// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

extension LinuxKernel {
    func observe() {
        guard watch == nil, let main, let thread = main.probe?.thread, host.watchBegan() else { return }
        let mailbox = host.mailbox
        // The first look stops threads that are on a CPU, as a capture does.
        host.captureBegan()
        do {
            watch = try HangWatch(of: main.process.pid, startTime: main.startTime, thread: thread, at: now) {
                mailbox.post(.looked)
            }
        } catch {
            host.captureEnded()
            host.watchEnded()
        }
    }

    func endObservation(_ hang: Hang?) {
        guard let watch = takeWatch() else { return }
        guard let hang, let threshold = configuration.spec.hangReportThreshold, hang.duration >= threshold,
            admitsHangReport()
        else { return }
        reportHang(hang, watch)
    }

    /// The watch, told to end; nil when there is none.
    func takeWatch() -> HangWatch? {
        guard let watch else { return nil }
        self.watch = nil
        host.watchEnded()
        watch.stop()
        return watch
    }

    /// A loop that hangs again and again has five reports in five minutes.
    private func admitsHangReport() -> Bool {
        let now = now
        hangReportInstants.removeAll { now - $0 > .seconds(300) }
        guard hangReportInstants.count < 5 else { return false }
        hangReportInstants.append(now)
        return true
    }

    /// A report of what the app did while it hung, although it runs on.
    private func reportHang(_ hang: Hang, _ watch: HangWatch) {
        lastRequestedCapture -= 1
        let incident = Incident(requestedAs: lastRequestedCapture, at: now, evidence: inspect())
        var facts = makeFacts(incident)
        facts.kind = .hang
        facts.event = hang.event
        facts.exhaustion = .wallClock
        facts.allowance = hang.allowance
        facts.elapsed = hang.duration
        facts.enforcement = .report
        facts.samplesBegan = watch.began - hang.startedAt
        // The app has got on: where it is now says nothing of where it was.
        facts.evidence.state = nil
        facts.evidence.syscall = nil
        facts.evidence.waitChannel = nil
        facts.evidence.waits = []
        facts.cpu = nil
        requestedCaptures[incident.id] = { [unowned self] outcome in onHangReport(hang, outcome) }
        self.facts[incident.id] = facts
        watches[incident.id] = watch
        captures[incident.id] = .sampled
        report(incident)
    }
}
