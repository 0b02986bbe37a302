// SPDX-License-Identifier: Apache-2.0

/// The second part of an `.ips` file.
///
/// The keys that Apple's readers require are not optional; the others are absent when unknown. Decoding ignores keys
/// that are not listed here.
public struct ReportBody: Codable, Equatable, Sendable {
    // MARK: The process

    /// The process name.
    public var procName: String
    /// The path of the executable.
    public var procPath: String?
    /// The process ID.
    public var pid: Int
    /// `Foreground`, `Background` or `unknown`.
    public var procRole: String?
    /// The user that the process ran as.
    public var userID: Int?
    /// The name of the parent process.
    public var parentProc: String?
    /// The ID of the parent process.
    public var parentPid: Int?
    /// Apple's group of processes that are accounted together; on Linux the path of the cgroup.
    public var coalitionName: String?
    /// The ID of the group; absent in our reports.
    public var coalitionID: Int?
    /// The name and version of the app.
    public var bundleInfo: BundleInfo?
    /// `X86-64`, `ARM-64`.
    public var cpuType: String?
    /// Whether the code ran under binary translation.
    public var translated: Bool?

    // MARK: Times

    /// The time of the report, with four fractional digits of a second.
    public var captureTime: String
    /// The time of the launch.
    public var procLaunch: String?
    /// The launch time in clock units; in our reports nanoseconds of `CLOCK_MONOTONIC`.
    public var procStartAbsTime: Int64?
    /// The time of the report, in the same units.
    public var procExitAbsTime: Int64?
    /// Seconds since boot.
    public var uptime: Int64?

    // MARK: The machine

    /// The machine model.
    public var modelCode: String?
    /// The operating system.
    public var osVersion: OSVersion?
    /// The version of a phone's modem.
    public var basebandVersion: String?
    /// 40 hexadecimal digits that identify the machine anonymously.
    public var crashReporterKey: String?

    // MARK: The report

    /// Always 2: this layout.
    public var version: Int?
    /// The incident's UUID.
    public var incident: String
    /// `309`, as in the metadata.
    public var bugType: String?
    /// Internal to Apple.
    public var rootsInstalled: Int?
    /// Internal to Apple.
    public var deployVersion: Int?

    // MARK: What happened

    /// The exception.
    public var exception: ExceptionInfo
    /// 1 if the process was not killed, and this is the report that a kill would have caused.
    public var isSimulated: Int?
    /// 1 if the stacks were captured after death.
    public var isCorpse: Int?
    /// The cause of the process's end.
    public var termination: TerminationInfo?
    /// The memory region of the fault address, as text.
    public var vmRegionInfo: String?
    /// The kernel's notes, as text.
    public var kernelTriage: String?
    /// Lines for the reader, keyed by the library they come from; in our reports the first is the verdict.
    public var applicationSpecificInformation: [String: [String]]?

    // MARK: Stacks

    /// Index into ``threads`` of the thread to blame.
    public var faultingThread: Int
    /// All threads; in our reports the main thread first.
    public var threads: [ThreadInfo]
    /// The stack of an uncaught exception.
    public var lastExceptionBacktrace: [FrameInfo]?
    /// The images that frames refer to.
    public var usedImages: [ImageInfo]
    /// The faulting thread's queue or name, for older readers.
    public var legacyInfo: LegacyInfo?

    /// Data without a place in Apple's format; absent in foreign files.
    public var linux: LinuxDetails?

    /// Creates a body with the values that every reader requires; the others are set afterward.
    public init(
        procName: String,
        pid: Int,
        captureTime: String,
        incident: String,
        exception: ExceptionInfo,
        faultingThread: Int,
        threads: [ThreadInfo],
        usedImages: [ImageInfo]
    ) {
        self.procName = procName
        self.pid = pid
        self.captureTime = captureTime
        self.incident = incident
        self.exception = exception
        self.faultingThread = faultingThread
        self.threads = threads
        self.usedImages = usedImages
    }

    enum CodingKeys: String, CodingKey {
        case procName, procPath, pid, procRole, userID, parentProc, parentPid, coalitionName, coalitionID, bundleInfo
        case cpuType, translated, captureTime, procLaunch, procStartAbsTime, procExitAbsTime, uptime, modelCode
        case osVersion, basebandVersion, crashReporterKey, version, incident, deployVersion, exception, isSimulated
        case isCorpse, termination, vmRegionInfo, faultingThread, threads, lastExceptionBacktrace, usedImages
        case legacyInfo, linux
        case bugType = "bug_type"
        case rootsInstalled = "roots_installed"
        case kernelTriage = "ktriageinfo"
        case applicationSpecificInformation = "asi"
    }
}

/// The name and version of an app.
public struct BundleInfo: Codable, Equatable, Sendable {
    /// The bundle identifier; in our reports the app's name.
    public var identifier: String?
    /// The version shown to people.
    public var shortVersion: String?
    /// The build number.
    public var version: String?

    /// Creates the values.
    public init(identifier: String?, shortVersion: String? = nil, version: String? = nil) {
        self.identifier = identifier
        self.shortVersion = shortVersion
        self.version = version
    }

    enum CodingKeys: String, CodingKey {
        case identifier = "CFBundleIdentifier"
        case shortVersion = "CFBundleShortVersionString"
        case version = "CFBundleVersion"
    }
}

/// The operating system of a report.
public struct OSVersion: Codable, Equatable, Sendable {
    /// The name and version: `Debian GNU/Linux 12 (bookworm)`.
    public var train: String
    /// The build; in our reports the kernel release.
    public var build: String
    /// The type of the release; `User` in our reports.
    public var releaseType: String?
    /// Whether the system is that of a phone or a watch.
    public var isEmbedded: Bool?

    /// Creates the values.
    public init(train: String, build: String, releaseType: String? = "User", isEmbedded: Bool? = false) {
        self.train = train
        self.build = build
        self.releaseType = releaseType
        self.isEmbedded = isEmbedded
    }
}

/// The cause of a process's end.
public struct TerminationInfo: Codable, Equatable, Sendable {
    /// The code in its namespace.
    public var code: UInt64
    /// Bits of the kernel's `OS_REASON_FLAG_…`.
    public var flags: Int?
    /// The namespace of the code: `WATCHDOG`, `SIGNAL`.
    public var namespace: String
    /// The explanation, one line each.
    public var reasons: [String]?
    /// The code in words, for signals.
    public var indicator: String?
    /// The process that sent the signal.
    public var byProc: String?
    /// The ID of that process.
    public var byPid: Int?

    /// Write a report (2), and the decision came from user space (4).
    public static let watchdogFlags = 6

    /// Creates the values.
    public init(code: UInt64, flags: Int?, namespace: String, reasons: [String]? = nil) {
        self.code = code
        self.flags = flags
        self.namespace = namespace
        self.reasons = reasons
    }
}

/// The faulting thread's queue or name, for older readers.
public struct LegacyInfo: Codable, Equatable, Sendable {
    /// A thread by queue or name.
    public struct Thread: Codable, Equatable, Sendable {
        /// The dispatch queue.
        public var queue: String?
        /// The thread's name.
        public var name: String?

        /// Creates the values.
        public init(queue: String? = nil, name: String? = nil) {
            self.queue = queue
            self.name = name
        }
    }

    /// The faulting thread.
    public var threadTriggered: Thread?

    /// Creates the values.
    public init(threadTriggered: Thread?) {
        self.threadTriggered = threadTriggered
    }
}
