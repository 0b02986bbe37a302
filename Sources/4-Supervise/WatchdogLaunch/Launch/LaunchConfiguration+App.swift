// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
package import WatchdogConfiguration
package import WatchdogLinux
import WatchdogPolicy
package import WatchdogReport
package import WatchdogReportStore

/// Why an app cannot be launched as configured.
package struct LaunchRefusal: Error, Hashable, CustomStringConvertible {
    /// One sentence without a period.
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

extension LaunchConfiguration {
    /// The `PATH` of apps of the system daemon.
    package static let systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    /// Resolves what an app's configuration names, as it is now: accounts, directories, environment files, programs.
    ///
    /// - Parameters:
    ///   - app: the configuration.
    ///   - scope: whether the daemon serves the machine or a user.
    ///   - store: where reports go.
    ///   - isFound: whether the program, which is a path, need not be examined.
    ///   - step: called with the name of each lookup before it starts.
    ///   - warn: called with what was ignored in environment files.
    package init(
        _ app: AppConfiguration, scope: DaemonPlaces.Scope, store: ReportStore, isFound: Bool = false,
        step: (String) -> Void = { _ in }, warn: (String) -> Void = { _ in }
    ) throws(LaunchRefusal) {
        let program = app.program
        step("the user database")
        let user = try Self.account(of: program)
        sharedSpec = Shared(wrappedValue: app.spec.onThisMachine)
        environment = try Self.environment(of: program, user: user, scope: scope, step, warn)
        step("WorkingDirectory")
        let directory = try Self.directory(program.workingDirectory, user: user, scope: scope)
        workingDirectory = directory
        self.store = store
        version = program.version
        let probe = Self.probe(of: app.watchdog)
        sharedSpec.wrappedValue.readinessTarget = probe?.description
        step("ExecStart \(program.command.program)")
        executable = isFound ? program.command.program : try Self.executable(program.command, environment, directory)
        let variables = environment
        arguments = program.command.argumentsReplacingVariables { variables[$0] }.map { ByteString($0) }
        attributes = ProcessAttributes(program, recordsStartup: app.watchdog.recordsLaunches)
        cgroupLimits = program.cgroupLimits
        takesCrashStacks = app.watchdog.takesCrashStacks
        credentials = program.command.isPrivileged ? nil : user.flatMap { geteuid() == 0 ? $0.credentials : nil }
        self.probe = probe
        livenessTarget = app.watchdog.probe?.target
        if !isFound { link = Self.link(executable, in: directory) }
    }

    /// A request for a further command of the app, which runs like the app itself.
    package func request(for command: Command) throws(LaunchRefusal) -> SpawnRequest {
        let path = try Self.executable(command, environment, workingDirectory)
        var request = SpawnRequest(
            executable: ByteString(path),
            arguments: command.argumentsReplacingVariables { environment[$0] }.map { ByteString($0) },
            environment: environment)
        request.workingDirectory = workingDirectory.map { ByteString($0) }
        request.credentials = command.isPrivileged ? nil : credentials
        if let streams { request.descriptors = streams.passed }
        attributes.apply(to: &request)
        return request
    }

    // MARK: - Lookup

    package static func account(of program: ProgramSettings) throws(LaunchRefusal) -> UserAccount? {
        guard program.user != nil || program.group != nil || !program.supplementaryGroups.isEmpty else { return nil }
        let account: UserAccount
        do {
            account = try UserAccount.find(
                user: program.user ?? String(geteuid()), group: program.group,
                supplementaryGroups: program.supplementaryGroups)
        } catch {
            throw LaunchRefusal(error.description)
        }
        if let refusal = refusal(of: account.credentials, program, for: geteuid(), getegid()) { throw refusal }
        return account
    }

    /// Why a watchdogd with this user and group cannot launch the program as configured.
    package static func refusal(
        of wanted: Credentials, _ program: ProgramSettings, for user: UInt32, _ group: UInt32
    ) -> LaunchRefusal? {
        guard user != 0 else { return nil }
        guard wanted.user == user, program.group == nil || wanted.group == group else {
            return LaunchRefusal(
                "User= and Group= are \(wanted.user):\(wanted.group), and watchdogd runs as \(user):\(group): "
                    + "only root's can launch as another user")
        }
        guard program.supplementaryGroups.isEmpty else {
            return LaunchRefusal("SupplementaryGroups= is set, but only root's watchdogd can apply it")
        }
        return nil
    }

    package static func environment(
        of program: ProgramSettings, user: UserAccount?, scope: DaemonPlaces.Scope, _ step: (String) -> Void,
        _ warn: (String) -> Void
    ) throws(LaunchRefusal) -> Environment {
        var variables = program.environment.map { (name: $0.name, value: $0.value) }
        for file in program.environmentFiles {
            step("EnvironmentFile \(file.pattern)")
            variables += try Self.variables(of: file, warn)
        }
        return baseEnvironment(scope: scope).forApp(variables: variables, user: user)
    }

    /// What apps inherit from watchdogd.
    static func baseEnvironment(scope: DaemonPlaces.Scope) -> Environment {
        let inherited = Environment.inherited
        guard scope == .system else { return inherited }
        // As in systemd.exec(5), apps do not inherit the daemon's environment.
        var base: Environment = ["PATH": systemPath]
        if let language = inherited["LANG"] { base["LANG"] = language }
        return base
    }

    private static func variables(
        of file: EnvironmentFile, _ warn: (String) -> Void
    ) throws(LaunchRefusal) -> [(name: String, value: String)] {
        let paths = PathPattern(file.pattern).matches
        guard !paths.isEmpty || file.isOptional else {
            throw LaunchRefusal("EnvironmentFile \(file.pattern): no such file")
        }
        var variables: [(name: String, value: String)] = []
        for path in paths {
            do throws(ConfigurationReadError) {
                let bytes = try HostFileSystem().guardedContents(
                    of: path, limit: ConfigurationFile.maximumLength + 1)
                let contents = EnvironmentFile.read(ConfigurationFile(path: path, contents: bytes))
                for diagnostic in contents.diagnostics { warn(diagnostic.description) }
                variables += contents.variables.map { ($0.name, $0.value) }
            } catch {
                guard file.isOptional, error.isMissing else {
                    throw LaunchRefusal("EnvironmentFile \(file.pattern): \(error.description)")
                }
            }
        }
        return variables
    }

    private static func directory(
        _ setting: WorkingDirectory?, user: UserAccount?, scope: DaemonPlaces.Scope
    ) throws(LaunchRefusal) -> String {
        let usual = scope == .system ? "/" : Environment.inherited["HOME"] ?? "/"
        guard let setting else { return usual }
        let path =
            switch setting.location {
            case .path(let path): path
            case .home: user?.home ?? Environment.inherited["HOME"] ?? "/"
            }
        if setting.isOptional, !HostFileSystem().isDirectory(path) { return usual }
        return path
    }

    private static func executable(
        _ command: Command, _ environment: Environment, _ directory: String?
    ) throws(LaunchRefusal) -> String {
        do {
            return try resolveExecutable(
                command.program, path: environment.searchPath,
                workingDirectory: directory)
        } catch {
            throw LaunchRefusal(error.description)
        }
    }

    /// The link by which a program is executed, which leads to a file of another name; nil for no such link.
    package static func link(_ executable: String, in directory: String?) -> ProgramLink? {
        let path = executable.hasPrefix("/") ? executable : "\(directory ?? ".")/\(executable)"
        guard let file = realpath(path, nil) else { return nil }
        defer { free(file) }
        return ProgramLink(executable.split(separator: "/").last.map(String.init) ?? "", to: String(cString: file))
    }

    private static func probe(of settings: WatchdogSettings) -> Probe? {
        switch settings.readiness {
        case .listening(let address): .listening(address)
        case .command(let command): .command(command)
        case .automatic, .channel, .notify, .probe, .none: nil
        }
    }
}

extension ProcessAttributes {
    /// The attributes in the app's files.
    package init(_ program: ProgramSettings, recordsStartup: Bool) {
        self.init(
            limits: program.limits.map(ResourceLimit.init),
            niceness: program.niceness.map(Int32.init),
            oomScoreAdjustment: program.oomScoreAdjustment,
            fileModeMask: program.fileModeMask,
            noNewPrivileges: program.noNewPrivileges,
            recordsStartup: recordsStartup
        )
    }
}

extension ProgramSettings {
    /// Whether a launch has nothing to look up but a program with this path: no account, no file, no directory.
    package func names(nothingBut path: String?) -> Bool {
        // A name without a slash is searched for in directories that may have changed.
        guard command.program == path, command.program.utf8.contains(UInt8(ascii: "/")) else { return false }
        guard user == nil, group == nil, supplementaryGroups.isEmpty, environmentFiles.isEmpty else { return false }
        // An optional directory is used only if it exists.
        guard workingDirectory?.isOptional != true, standardOutput.isAlwaysThere else { return false }
        // It goes wherever standard output goes.
        return standardError == .inherit || standardError.isAlwaysThere
    }

    /// The limits for the app as a whole; percentages refer to this machine.
    package var cgroupLimits: CgroupLimits {
        CgroupLimits(
            cpuQuota: cpuQuota,
            memory: memoryMaximum?.resolved(of: Machine.memoryBytes),
            tasks: tasksMaximum?.resolved(of: Machine.maximumProcesses)
        )
    }
}

extension ResourceLimit {
    package init(_ limit: ProcessLimit) {
        let resource = Resource.named.first { $0.name == limit.resource.rawValue }?.resource
        guard let resource else { preconditionFailure("both lists have the names of getrlimit(2)") }
        self.init(resource, soft: limit.soft, hard: limit.hard)
    }
}

/// A path with the wildcards of glob(7).
package struct PathPattern {
    package let pattern: String

    package init(_ pattern: String) {
        self.pattern = pattern
    }

    /// The existing paths that match, in order; a pattern without wildcards yields itself, even if nothing exists
    /// there.
    package var matches: [String] {
        guard pattern.contains(where: { "*?[".contains($0) }) else { return [pattern] }
        var result = glob_t()
        defer { globfree(&result) }
        guard glob(pattern, 0, nil, &result) == 0 else { return [] }
        return (0..<Int(result.gl_pathc)).compactMap { result.gl_pathv[$0].map { String(cString: $0) } }
    }
}
