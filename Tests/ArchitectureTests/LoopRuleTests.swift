// SPDX-License-Identifier: Apache-2.0

import Testing

/// Calls whose duration another party decides, and the files that may make them: outside the loop, in an examiner,
/// before the loop turns, or in a command without a loop.
private struct BlockingCall: CustomTestStringConvertible, Sendable {
    let what: String
    let pattern: String
    let allowed: Set<String>

    var testDescription: String { what }

    static let all = [
        BlockingCall(
            what: "a read of foreign memory", pattern: #"\bwd_read_process_memory\s*\("#,
            allowed: [
                "WatchdogLinux/Waiting/WaitLook.swift",
                // Without a source of copiers.
                "WatchdogLinux/Examining/Copiers.swift",
            ]),
        BlockingCall(
            what: "a look at what a thread waits for", pattern: #"=\s*WaitLook\s*[({]"#,
            allowed: [
                "WatchdogLinux/Examining/Examination+Answering.swift",
                "WatchdogLaunch/Sampling/ProcessCapture.swift",
            ]),
        BlockingCall(
            what: "a search for file locks", pattern: #"\bHeldLocks\.find\s*\("#,
            allowed: ["WatchdogLinux/Examining/Examination+Answering.swift"]),
        BlockingCall(
            what: "a process's environment or arguments",
            pattern: #"\bProcessFacts\.(?:environment|arguments)\s*\("#,
            allowed: [
                "WatchdogLinux/Examining/Examination+Answering.swift",
                "WatchdogLaunch/Sampling/ProcessCapture.swift",
                // Without a source of copiers.
                "WatchdogLinux/Examining/Copiers.swift", "WatchdogLinux/Containment/ProcessTree.swift",
                // Processes of root and of the same user, outside the loop.
                "WatchdogDaemon/Observe/ContainerNames.swift",
            ]),
        BlockingCall(
            what: "a copy that is waited for", pattern: #"copiers\.copying\s*\("#,
            allowed: [
                // Outside the loop.
                "WatchdogDaemon/Observe/ObservedProcess.swift",
                "WatchdogLaunch/Incidents/LaunchIncidents.swift", "WatchdogLaunch/Launch/LaunchStartup.swift",
                // Orphans that may belong to the app, without cgroups.
                "WatchdogLaunch/Tree/LaunchTree.swift",
                // Processes of a lost launch are found before the loop turns.
                "WatchdogLaunch/Survival/LaunchResumption.swift",
                "WatchdogDaemon/Daemon/LostLaunches.swift",
            ]),
        BlockingCall(
            what: "a file of a process by its descriptor",
            pattern: #"\bJournalStream\.identity\s*\(of:[^)]*\bin:"#,
            allowed: ["WatchdogLinux/Examining/Examination+Answering.swift"]),
        BlockingCall(
            what: "a program's file", pattern: #"\b(?:ProgramFacts\.read|BuildID\.read|DebianPackages)\s*\("#,
            allowed: [
                "WatchdogDaemon/History/LaunchHistory.swift",
                "WatchdogDaemon/History/ProgramFacts.swift",
            ]),
        BlockingCall(
            what: "the launch history", pattern: #"\bHistoryStore(?:\.open)?\s*\("#,
            allowed: []),
        BlockingCall(
            what: "the user database", pattern: #"\b(?:getpw|getgr)(?:nam|uid|gid|ouplist)\w*\s*\("#,
            allowed: ["WatchdogLinux/System/UserAccount.swift"]),
        BlockingCall(
            what: "an account", pattern: #"\bUserAccount\.find\s*\("#,
            allowed: [
                "WatchdogLaunch/Launch/LaunchConfiguration+App.swift",
                "WatchdogDaemon/Daemon/MachineWarnings.swift",
                "WatchdogLaunch/Launch/HostConfiguration.swift",
                "WatchdogRun/Run/LaunchConfiguration+Resolution.swift",
            ]),
        BlockingCall(
            what: "what an app's launch needs of files",
            pattern: #"\bLaunchConfiguration\s*\(\s*(?:app\b|$)|\bStandardStreams\s*\(\s*opening\b"#,
            allowed: [
                "WatchdogDaemon/Daemon/LaunchLookup.swift",
                // A value; nothing is looked up.
                "WatchdogDaemon/Observe/ObservedProcess.swift",
                // Processes of a lost launch are adopted before the loop turns.
                "WatchdogDaemon/Daemon/LostLaunches.swift",
                "WatchdogRun/Run/LaunchConfiguration+Resolution.swift",
            ]),
        BlockingCall(
            what: "a name server", pattern: #"\b(?:getaddrinfo|gethostby\w+|getnameinfo)\s*\("#,
            allowed: ["WatchdogLinux/Asking/WebRequest.swift"]),
        // Only commands send requests.
        BlockingCall(what: "a web server", pattern: #"\bWebRequest\s*\("#, allowed: []),
        BlockingCall(
            what: "a descriptor that may be a stranger's",
            pattern: #"\bOwnedDescriptor\s*\(\s*taking:\s*\$0\s*\)"#,
            // For a program that the caller runs for its own user.
            allowed: ["WatchdogLinux/Sockets/SocketMessage.swift"]),
        BlockingCall(
            what: "a message whose descriptors the kernel would close",
            pattern: #"\b(?:recv|recvmsg)\s*\("#,
            allowed: [
                // Sockets of watchdogd's own processes, of the program that started it, or of a client command; and
                // bytes of a stream that came without descriptors.
                "WatchdogRun/Run/RemoteControl.swift", "WatchdogLinux/Examining/Examiner.swift",
                "WatchdogLinux/Asking/WebRequest.swift", "WatchdogLinux/Sockets/SocketMessage.swift",
                "WatchdogLinux/Examining/ExaminerSource.swift", "WatchdogControl/Client/ControlClient+Messages.swift",
            ]),
        BlockingCall(
            what: "a wait for a reader of standard error",
            pattern: #"\bStandardError\.(?:say|print|list)\s*\((?!.*within: \.zero)"#,
            allowed: [
                // Before the loop turns, or when the program has exited.
                "WatchdogRun/Run/Run.swift", "WatchdogRun/Run/RunSession.swift",
                "WatchdogDaemon/Daemon/TerminationMessageFile.swift", "WatchdogSimulation/Recording/TraceFile.swift",
                "WatchdogRun/Observe/Observe.swift",
                "WatchdogLaunch/Survival/Survival.swift", "WatchdogDaemon/Daemon/InstalledApp.swift",
                "WatchdogDaemon/Daemon/Serve.swift",
                "WatchdogRun/Run/LaunchConfiguration+Resolution.swift",
                // On the thread that writes reports.
                "WatchdogLaunch/Reports/ReportWriter.swift",
                // For as long as its caller permits.
                "WatchdogLaunch/Journal/EventLog.swift",
            ]),
        BlockingCall(
            what: "a wait for a thread", pattern: #"\.join\s*\(\s*\)"#, allowed: []),
    ]
}

@Suite("The loop")
struct LoopRuleTests {
    @Test("makes no call whose duration another party decides", arguments: BlockingCall.all)
    fileprivate func blockingCalls(_ call: BlockingCall) throws {
        let folders = ["WatchdogLinux", "WatchdogControl", "WatchdogLaunch", "WatchdogDaemon", "WatchdogRun"]
        // A guest, but it records on the loop of a run.
        let files = (folders + ["WatchdogSimulation/Recording"]).flatMap { SourceTree.files(of: $0) }.filter(\.isSwift)
        #expect(files.count > 100)
        let pattern = try Regex(call.pattern)
        let places = files.filter { !call.allowed.contains($0.place ?? "") }
            .flatMap { $0.places(matching: pattern) }
        #expect(places == [], "\(call.what): see docs/architecture.md for where it runs instead")
        for path in call.allowed {
            let file = files.first { $0.place == path }
            #expect(file?.places(matching: pattern).isEmpty == false, "\(path) needs no exception any more")
        }
    }
}
