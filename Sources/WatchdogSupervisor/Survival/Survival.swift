// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogLinux
import WatchdogPolicy
import WatchdogReport

/// Where a daemon keeps what the next one needs to go on: a directory that stays, and the service manager's store.
///
/// In the directory are the apps' notify sockets and two kinds of files: `UUID.launch` for each launch that is not over,
/// `NAME.app` for each app.
///
/// Isolation: the loop's thread. Of the daemons of one control socket only one runs at a time.
final class Survival {
    static let appFormat: UInt32 = 2
    private static let appCapacity = 256 << 10
    private static let launchSuffix = ".launch"
    private static let appSuffix = ".app"
    /// More files than this are not read.
    private static let mostFiles = 65_536

    /// Tells this daemon from those that serve other control sockets.
    let name: String
    let directory: RuntimeDirectory
    /// To whom descriptors are given; nil without a service manager.
    let notifier: ServiceNotifier?
    /// What could not be kept or gone on with; to be told.
    var onProblem: (String) -> Void = { _ in }

    private var appFiles: [String: StateFile] = [:]
    private var hasFailed = false

    /// - Parameters:
    ///   - controlPath: the socket that the daemon serves.
    ///   - standardPath: the socket that daemons of its kind serve.
    ///   - notifier: the way to the service manager.
    init(controlPath: String, standardPath: String, notifier: ServiceNotifier?) throws(LinuxError) {
        self.notifier = notifier
        name = controlPath == standardPath ? "serve" : "serve-" + String(FNV1a.hash(of: controlPath), radix: 16)
        directory = try RuntimeDirectory.lasting(name)
    }

    // MARK: - Launches

    /// Begins to keep a launch.
    func keeper(for launchID: IncidentID) -> LaunchKeeper {
        LaunchKeeper(launchID, creating: "\(directory.path)/\(launchID)\(Self.launchSuffix)".withoutSpareRoom)
    }

    /// Gives descriptors of a launch to the service manager, if there is one.
    func store(_ descriptors: [OwnedDescriptor], of keeper: LaunchKeeper) {
        notifier?.store(descriptors, as: keeper.storeName)
    }

    /// A launch is over.
    func forget(_ keeper: LaunchKeeper) {
        keeper.remove()
        notifier?.removeStored(keeper.storeName)
    }

    /// Told once, so that a full disk does not fill the journal.
    func tell(_ problem: String) {
        guard !hasFailed else { return }
        hasFailed = true
        onProblem("\(problem); should watchdogd end now, the next one may not know all of its apps")
    }

    /// What the watchdogd before this one has left.
    ///
    /// - Parameter passed: the descriptors that came with the start.
    func inherit(_ passed: PassedDescriptors) -> Inheritance {
        var inheritance = Inheritance()
        var stored = passed.byName
        for name in fileNames(ending: Self.launchSuffix) {
            let path = "\(directory.path)/\(name)"
            let launchID = String(name.dropLast(Self.launchSuffix.count))
            let descriptors = stored.removeValue(forKey: launchID) ?? []
            do {
                let file = try StateFile(opening: path, upTo: LaunchState.format)
                let contents = try file.contents()
                let state = try LaunchState.decode(contents.checkpoint)
                guard state.launchID == IncidentID(launchID) else { throw StateFileError(path, .damaged) }
                let all = passed.isSameProcess ? Self.take(state.descriptors) : descriptors
                let launch = InheritedLaunch(
                    state: state, pulse: contents.pulse.flatMap { LaunchPulse($0) }, file: file,
                    descriptors: InheritedDescriptors(all))
                guard launch.machine != nil else { throw StateFileError(path, .damaged) }
                inheritance.launches.append(launch)
            } catch let error as StateFileError where error.reason == .otherBoot {
                unlink(path)
            } catch {
                let reason = (error as? StateFileError)?.description ?? "\(path) cannot be understood"
                inheritance.problems.append(reason)
                inheritance.unreadable.append((launchID, path, InheritedDescriptors(descriptors)))
            }
        }
        for (name, descriptors) in stored where IncidentID(name) != nil {
            inheritance.unreadable.append((name, nil, InheritedDescriptors(descriptors)))
        }
        return inheritance
    }

    /// The descriptors of a process that has executed itself anew: it is the same process, with the same numbers.
    private static func take(_ descriptors: LaunchState.Descriptors) -> [OwnedDescriptor] {
        descriptors.all.compactMap { number in
            guard number > STDERR_FILENO, fcntl(number, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
            return OwnedDescriptor(taking: number)
        }
    }

    // MARK: - Apps

    /// Keeps what an app has beyond its launches.
    func keep(_ state: KeptApp, of app: String) {
        do {
            let bytes = try StateEncoder.encode(state)
            let file =
                try appFiles[app]
                ?? StateFile(
                    creating: "\(directory.path)/\(app)\(Self.appSuffix)".withoutSpareRoom, format: Self.appFormat,
                    capacity: Self.appCapacity, staysOpen: false)
            appFiles[app] = file
            try file.write(checkpoint: bytes)
        } catch {
            tell("the state of \(app) cannot be kept: \(error)")
        }
    }

    /// What was kept of an app; nil for nothing that can be read.
    func kept(_ app: String) -> KeptApp? {
        let path = "\(directory.path)/\(app)\(Self.appSuffix)"
        guard let file = try? StateFile(opening: path, upTo: Self.appFormat), let contents = try? file.contents(),
            let state = try? StateDecoder.decode(KeptApp.self, from: contents.checkpoint)
        else { return nil }
        file.close()
        appFiles[app] = file
        return state
    }

    /// An app is configured no longer.
    func forget(app: String) {
        appFiles.removeValue(forKey: app)?.remove()
        unlink("\(directory.path)/\(app)\(Self.appSuffix)")
    }

    /// Nothing is left to go on with but what is known: others were taken out of the configuration while no watchdogd ran.
    func forgetApps(besides known: Set<String> = []) {
        for file in fileNames(ending: Self.appSuffix) {
            let name = String(file.dropLast(Self.appSuffix.count))
            if !known.contains(name) { forget(app: name) }
        }
    }

    // MARK: - Files

    private func fileNames(ending suffix: String) -> [String] {
        guard let stream = opendir(directory.path) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while names.count < Self.mostFiles, let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(suffix) { names.append(name) }
        }
        return names.sorted()
    }
}

/// What a daemon finds when it starts.
struct Inheritance {
    /// Launches that can be gone on with.
    var launches: [InheritedLaunch] = []
    /// Launches of which only a name and perhaps descriptors are left.
    var unreadable: [(launchID: String, file: String?, descriptors: InheritedDescriptors)] = []
    /// Why they are unreadable.
    var problems: [String] = []
}

/// Descriptors that came with the start of this process.
struct PassedDescriptors {
    /// By the names under which they were stored.
    var byName: [String: [OwnedDescriptor]] = [:]
    /// Whether this process has executed itself anew, so that descriptors have the numbers that they had.
    var isSameProcess = false

    /// Takes over what the service manager passes; to be called before another thread exists.
    ///
    /// Variables that were inherited from somewhere are no reason not to supervise.
    static func take() -> PassedDescriptors {
        var result = PassedDescriptors()
        result.isSameProcess = Reexecution.takeMark()
        do throws(LinuxError) {
            for passed in try ServiceManager.takeDescriptors() {
                result.byName[passed.name, default: []].append(passed.descriptor)
            }
        } catch {
            StandardError.say("\(error); LISTEN_FDS and LISTEN_FDNAMES are ignored")
        }
        return result
    }
}
