// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogPolicy
public import WatchdogVerdict

extension Report {
    /// Builds the report of an incident.
    ///
    /// A pure function: it reads no clock, file or environment. It redacts secrets in arguments and environment, makes
    /// text from the process safe for terminals, and cuts everything to the limits of readers.
    ///
    /// - Parameters:
    ///   - facts: the facts about the incident.
    ///   - host: the machine.
    ///   - capture: the stacks; nil if they could not be captured, which the report then states.
    public init(of facts: IncidentFacts, on host: HostFacts, capture: CapturedProcess?) {
        var facts = facts
        let appName = facts.appName.singleLine(limit: 255)
        let stacks = StackInfo(
            facts.renaming(capture), main: facts.crash?.thread ?? facts.mainThread ?? facts.pid, name: appName,
            state: facts.evidence.state)
        facts.trail = facts.judgedTrail(appName, capture)
        // Its rules know the names of files.
        let insight = Insight(facts, capture)
        for index in facts.others.indices { facts.others[index].capture = facts.renaming(facts.others[index].capture) }
        var verdict = Verdict(of: facts, stacks)
        if let server = facts.server {
            let isThread = server.mainProcess == facts.pid
            verdict.attribute(to: isThread ? "Thread \(facts.mainThread ?? facts.pid)" : "Worker \(facts.pid)")
        }
        if verdict.kind == .blocked, insight.findings.contains(where: { $0.kind == .dispatchDeadlock }) {
            verdict.brief = "\(Verdict.deadlock) of queues"
        }
        let others = [.otherProcess, .otherThread].compactMap { kind in insight.findings.first { $0.kind == kind } }
        if let other = others.first { verdict.add(other) }
        // A worker's stack, or one of another process, says nothing about the launch.
        if facts.kind == .watchdog, facts.server == nil, capture != nil {
            let index = stacks.faultingThread
            facts.launch?.complete(
                with: ReportStack(
                    index, stacks.threads[index], stacks.details.indices.contains(index) ? stacks.details[index] : nil,
                    images: ImageOrigins(stacks.images, executable: facts.executablePath), isFaulting: true), verdict)
        }
        if facts.kind == .watchdog, facts.server == nil, let samples = facts.samples,
            let began = facts.allowanceBegan
        {
            facts.launch?.complete(
                with: samples, of: facts.pid, executable: facts.executablePath, began: began + facts.samplesBegan)
        }
        let notes = (facts.notes + (capture?.notes ?? []) + stacks.notes).prefix(64)
        let information = InformationLines.lines(
            facts, host, verdict, capture, stacks, insight, notes: Array(notes))
        let path = facts.executablePath.singleLine(limit: ReportLimits.stringLength)
        let os = OSVersion(train: host.osName.singleLine(limit: 128), build: host.kernelRelease.singleLine(limit: 128))

        var metadata = ReportMetadata(
            appName: appName, timestamp: facts.captureTime.text(fractionDigits: 2), incidentID: facts.id.description)
        metadata.appVersion = facts.appVersion?.singleLine(limit: 128) ?? ""
        // The build ID of the main program, as in the history and the metrics.
        let build = facts.buildVersion ?? stacks.buildID(of: path).map { String($0.prefix(8)) }
        metadata.buildVersion = build?.singleLine(limit: 128) ?? ""
        metadata.sliceUUID = stacks.images.first { $0.path == path }?.uuid ?? ImageInfo.absent.uuid
        metadata.bundleID = appName
        metadata.shareWithAppDevs = 0
        metadata.isFirstParty = 0
        metadata.osVersion = "\(os.train) (\(os.build))"
        metadata.rootsInstalled = 0
        metadata.name = appName
        metadata.linux = ReportMetadata.Linux(
            pid: facts.pid, event: facts.kind == .watchdog ? facts.event.rawValue : facts.kind.rawValue,
            verdict: verdict.brief)

        var body = ReportBody(
            procName: appName,
            pid: facts.pid,
            captureTime: facts.captureTime.text(fractionDigits: 4),
            incident: facts.id.description,
            exception: facts.crash.map { ExceptionInfo($0) } ?? .watchdogKill,
            faultingThread: stacks.faultingThread,
            threads: stacks.threads,
            usedImages: stacks.images
        )
        body.procPath = path
        body.procRole = facts.visibility == .unknown ? "unknown" : facts.visibility.rawValue
        body.userID = facts.userID
        body.parentProc = facts.parentName.singleLine(limit: 255)
        body.parentPid = facts.parentPID
        body.coalitionName = facts.cgroup?.singleLine(limit: ReportLimits.stringLength)
        body.bundleInfo = BundleInfo(
            identifier: appName,
            shortVersion: facts.appVersion?.singleLine(limit: 128),
            version: build?.singleLine(limit: 128)
        )
        #if arch(x86_64)
            body.cpuType = "X86-64"
        #elseif arch(arm64)
            body.cpuType = "ARM-64"
        #endif
        body.procLaunch = facts.launchTime.text(fractionDigits: 4)
        body.procStartAbsTime = facts.launchInstant.nanoseconds
        body.procExitAbsTime = facts.captureInstant.nanoseconds
        body.uptime = host.uptimeSeconds
        body.modelCode = host.machineModel.singleLine(limit: 128)
        body.osVersion = os
        body.crashReporterKey = host.crashReporterKey.singleLine(limit: 64)
        body.version = 2
        body.bugType = ReportMetadata.crash
        body.rootsInstalled = 0
        // Apple's mark for a report without a death: "SIMULATED (this is NOT a crash)".
        let isAlive = facts.crash == nil && (facts.enforcement == .report || facts.kind.isSimulated)
        body.isSimulated = isAlive ? 1 : nil
        if facts.kind == .watchdog {
            body.termination = TerminationInfo(
                code: facts.code.code,
                flags: TerminationInfo.watchdogFlags,
                namespace: facts.code.namespace.singleLine(limit: 64),
                reasons: TerminationReasons.lines(facts, processorCount: host.processorCount)
                    .map { $0.singleLine(limit: ReportLimits.lineLength) }
            )
        }
        if let crash = facts.crash {
            body.termination = TerminationInfo(crash, process: facts.pid, name: appName)
            // The core was written after the last instruction.
            body.isCorpse = capture == nil ? nil : 1
        }
        body.applicationSpecificInformation = ["watchdogd": information]
        body.legacyInfo = LegacyInfo(
            threadTriggered: LegacyInfo.Thread(name: stacks.threads[stacks.faultingThread].name))
        body.linux = LinuxDetails(facts, host, verdict, capture, stacks, insight, notes: Array(notes))
        self.init(metadata: metadata, body: body)
    }
}

extension LinuxDetails {
    fileprivate init(
        _ facts: IncidentFacts, _ host: HostFacts, _ verdict: Verdict, _ capture: CapturedProcess?,
        _ stacks: StackInfo, _ insight: Insight, notes: [String]
    ) {
        self.init(
            kind: facts.kind,
            verdict: verdict.singleLine,
            evidence: facts.evidence.statements(pid: facts.pid, thread: facts.mainThread).map {
                EvidenceStatement(
                    what: $0.what, value: $0.value.singleLine(limit: ReportLimits.lineLength), source: $0.source)
            },
            waits: facts.evidence.waits.isEmpty ? nil : facts.evidence.waits,
            findings: insight.findings.isEmpty ? nil : insight.findings,
            stages: insight.stages,
            samples: insight.samples,
            allowance: AllowanceDetails(facts),
            missed: facts.missed,
            server: facts.server,
            enforcement: facts.enforcement.rawValue,
            kill: KillDetails(facts.kill),
            exitStatus: facts.exitStatus,
            capture: capture.map(CaptureDetails.init),
            threads: stacks.details,
            goroutines: stacks.goroutines,
            buildIDs: stacks.buildIDs,
            processes: facts.others.isEmpty ? nil : ProcessDetails.all(facts.others),
            trail: facts.trail,
            trailProcesses: facts.strangers.isEmpty ? nil : ProcessDetails.all(facts.strangers),
            kernelRelease: host.kernelRelease.singleLine(limit: 128),
            hostName: host.hostName.singleLine(limit: 255),
            workload: host.workload,
            processorCount: host.processorCount,
            cgroup: facts.cgroup?.singleLine(limit: ReportLimits.stringLength),
            commandLine: Redaction.arguments(Array(facts.arguments.prefix(ReportLimits.strings)))
                .map { $0.singleLine(limit: ReportLimits.stringLength) },
            environment: Self.environment(facts.environment),
            executableUserID: facts.executableUserID,
            status: facts.status?.singleLine(limit: ReportLimits.lineLength),
            summary: facts.summary?.singleLine(limit: ReportLimits.lineLength),
            pings: facts.pings,
            log: facts.log?.sanitized(),
            lifecycle: facts.lifecycle,
            launch: facts.launch,
            crash: facts.crash.map(Self.sanitized),
            notes: notes.map { $0.singleLine(limit: ReportLimits.lineLength) }
        )
    }

    private static func sanitized(_ crash: CrashDetails) -> CrashDetails {
        var crash = crash
        crash.stacks = crash.stacks.singleLine(limit: ReportLimits.lineLength)
        return crash
    }

    private static func environment(_ variables: [String: String]) -> [String: String] {
        let kept = variables.sorted { $0.key < $1.key }.prefix(ReportLimits.strings)
        let safe = Redaction.environment(Dictionary(uniqueKeysWithValues: Array(kept))).map {
            ($0.key.singleLine(limit: 255), $0.value.singleLine(limit: ReportLimits.stringLength))
        }
        return Dictionary(safe, uniquingKeysWith: { first, _ in first })
    }
}

extension AllowanceDetails {
    fileprivate init(_ facts: IncidentFacts) {
        self.init(
            event: facts.event.rawValue,
            kind: facts.exhaustion.rawValue,
            nanoseconds: facts.allowance.nanoseconds,
            creditNanoseconds: facts.credit.nanoseconds,
            extendedNanoseconds: facts.extended.nanoseconds,
            pausedNanoseconds: facts.paused.nanoseconds,
            elapsedNanoseconds: facts.elapsed.nanoseconds
        )
    }
}

extension KillDetails {
    fileprivate init(_ outcome: IncidentFacts.KillOutcome) {
        switch outcome {
        case .none: self.init(outcome: "none", nanoseconds: nil, survivors: [])
        case .verified(let after): self.init(outcome: "verified", nanoseconds: after.nanoseconds, survivors: [])
        case .unverified: self.init(outcome: "unverified", nanoseconds: nil, survivors: [])
        case .unkillable(let pids):
            self.init(outcome: "unkillable", nanoseconds: nil, survivors: Array(pids.prefix(1_024)))
        }
    }
}

extension CaptureDetails {
    init(_ capture: CapturedProcess) {
        self.init(
            method: capture.method,
            methodReason: capture.methodReason?.singleLine(limit: ReportLimits.lineLength),
            frozenNanoseconds: capture.frozenNanoseconds,
            notes: capture.notes.prefix(64).map { $0.singleLine(limit: ReportLimits.lineLength) }
        )
    }
}
