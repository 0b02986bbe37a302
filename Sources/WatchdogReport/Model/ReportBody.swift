// SPDX-License-Identifier: Apache-2.0

/// The second part of an `.ips` file.
///
/// What Apple's readers cannot do without is not optional; the rest is absent where it is not known. Reading ignores
/// keys that are not listed here.
public struct ReportBody: Codable, Equatable, Sendable {
    // MARK: The process

    /// The process's name.
    public var procName: String
    /// The executable.
    public var procPath: String?
    /// The process.
    public var pid: Int
    /// `Foreground`, `Background` or `unknown`.
    public var procRole: String?
    /// The user it ran as.
    public var userID: Int?
    /// The parent's name.
    public var parentProc: String?
    /// The parent.
    public var parentPid: Int?
    /// Apple's group of processes that are charged together; on Linux the cgroup's path.
    public var coalitionName: String?
    /// The group's number; absent in our reports.
    public var coalitionID: Int?
    /// Name and version of the app.
    public var bundleInfo: BundleInfo?
    /// `X86-64`, `ARM-64`.
    public var cpuType: String?
    /// Whether the code ran translated.
    public var translated: Bool?

    // MARK: Times

    /// When the report was taken, with four digits of the second's fraction.
    public var captureTime: String
    /// When the process was launched.
    public var procLaunch: String?
    /// The same in clock units; in our reports nanoseconds of `CLOCK_MONOTONIC`.
    public var procStartAbsTime: Int64?
    /// When the report was taken, likewise.
    public var procExitAbsTime: Int64?
    /// Seconds since the machine started.
    public var uptime: Int64?

    // MARK: The machine

    /// The machine's model.
    public var modelCode: String?
    /// The operating system.
    public var osVersion: OSVersion?
    /// Version of a phone's modem.
    public var basebandVersion: String?
    /// 40 hexadecimal digits that stand for the machine without naming it.
    public var crashReporterKey: String?

    // MARK: The report

    /// 2: this layout.
    public var version: Int?
    /// The incident's UUID.
    public var incident: String
    /// `309`, once more.
    public var bugType: String?
    /// Apple's internal.
    public var rootsInstalled: Int?
    /// Apple's internal.
    public var deployVersion: Int?

    // MARK: What happened

    /// The exception.
    public var exception: ExceptionInfo
    /// 1 when the process was not killed, but this is the report that a kill would have left.
    public var isSimulated: Int?
    /// 1 when the stacks were taken after death.
    public var isCorpse: Int?
    /// Who ended the process and why.
    public var termination: TerminationInfo?
    /// What address was hit, as text.
    public var vmRegionInfo: String?
    /// What the kernel noted, as text.
    public var kernelTriage: String?
    /// Lines for the reader by the library they come from; the first is the verdict in our reports.
    public var applicationSpecificInformation: [String: [String]]?

    // MARK: Stacks

    /// Index into ``threads`` of the one to blame.
    public var faultingThread: Int
    /// All threads; in our reports the main thread first.
    public var threads: [ThreadInfo]
    /// The stack of an uncaught exception.
    public var lastExceptionBacktrace: [FrameInfo]?
    /// The images that frames point to.
    public var usedImages: [ImageInfo]
    /// The faulting thread's queue or name, for old readers.
    public var legacyInfo: LegacyInfo?

    /// What Apple has no place for; absent in foreign files.
    public var linux: LinuxDetails?

    /// Creates a body with what every reader needs; set the rest afterwards.
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
