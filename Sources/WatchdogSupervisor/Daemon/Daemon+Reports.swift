// SPDX-License-Identifier: Apache-2.0

import Dispatch
import WatchdogControl
import WatchdogLinux
import WatchdogReport

extension Daemon {
    func reports(_ request: ReportsRequest, answer: ControlAnswer<ReportsReply>) {
        let token = token()
        reportRequests[token] = answer
        let store = store
        let mailbox = host.mailbox
        reading.async {
            let result = Result { () throws(DaemonMessage.ReadFailure) in
                try Self.list(store, app: request.app, limit: min(max(request.limit ?? 20, 0), 1_000))
            }
            mailbox.post(.daemon(.reportsListed(token, result)))
        }
    }

    func reportsListed(_ token: Int, _ result: Result<[ReportSummary], DaemonMessage.ReadFailure>) {
        guard let answer = reportRequests.removeValue(forKey: token) else { return }
        switch result {
        case .success(let reports): answer.succeed(ReportsReply(reports: reports))
        case .failure(let failure): answer.fail(.failed(reason: failure.description))
        }
    }

    private static func list(
        _ store: ReportStore, app: String?, limit: Int
    ) throws(DaemonMessage.ReadFailure) -> [ReportSummary] {
        do throws(ReportStoreError) {
            let reports = try store.list().filter { app == nil || $0.metadata?.appName == app }
            return reports.prefix(limit).map(ReportSummary.init)
        } catch  where error.code == .notFound {
            return []
        } catch {
            throw DaemonMessage.ReadFailure(description: error.description)
        }
    }
}

extension ReportSummary {
    init(_ report: StoredReport) {
        let metadata = report.metadata
        self.init(
            incident: metadata?.incidentID,
            app: metadata?.appName ?? report.name,
            pid: metadata?.linux.map { Int32(clamping: $0.pid) },
            time: Timestamp(
                microseconds: report.time.seconds * 1_000_000 + Int64(report.time.nanoseconds) / 1_000),
            event: metadata?.linux?.event,
            verdict: metadata?.linux?.verdict,
            path: report.path,
            size: report.size
        )
    }
}
