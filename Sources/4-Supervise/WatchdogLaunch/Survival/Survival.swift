// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
package import WatchdogLinux
package import WatchdogReport

/// Where a daemon keeps its state for the next one: a directory that outlives it, and the service manager's descriptor
/// store.
///
/// The directory holds the apps' notify sockets, a file `UUID.launch` for each launch that is not over, and a file
/// `NAME.app` for each app.
///
/// Isolation: the loop's thread. Only one daemon runs per control socket.
package final class Survival {
    private static let appCapacity = 256 << 10
    private static let launchSuffix = ".launch"
    private static let appSuffix = ".app"
    /// At most this many files are read.
    private static let mostFiles = 65_536

    /// Distinguishes this daemon from those that serve other control sockets.
    package let name: String
    package let directory: RuntimeDirectory
    /// Receives the descriptors; nil without a service manager.
    package let notifier: ServiceNotifier?
    /// Receives what could not be saved or resumed, for the journal.
    package var onProblem: (String) -> Void = { _ in }

    private var appFiles: [String: StateFile] = [:]
    private var hasFailed = false

    /// Opens the directory of a daemon, creating it if needed.
    ///
    /// - Parameters:
    ///   - controlPath: the socket that this daemon serves.
    ///   - standardPath: the default socket of such daemons.
    ///   - scope: whom the daemon serves.
    ///   - isRoot: whether root runs it, whose own daemon and the machine's share `/run/watchdogd`.
    ///   - notifier: the connection to the service manager.
    package convenience init(
        controlPath: String, standardPath: String, scope: DaemonPlaces.Scope = .ofThisUser,
        isRoot: Bool = geteuid() == 0, notifier: ServiceNotifier?
    ) throws(LinuxError) {
        try self.init(
            name: Self.name(
                controlPath: controlPath, standardPath: standardPath, isRootsOwn: isRoot && scope == .user),
            notifier: notifier)
    }

    private init(name: String, notifier: ServiceNotifier?) throws(LinuxError) {
        self.notifier = notifier
        self.name = name
        directory = try RuntimeDirectory.lasting(name)
    }

    /// The name of a daemon's directory, which no other daemon in the same place has.
    package static func name(controlPath: String, standardPath: String, isRootsOwn: Bool) -> String {
        guard controlPath == standardPath else { return "serve-" + String(FNV1a.hash(of: controlPath), radix: 16) }
        // Not a hexadecimal number.
        return isRootsOwn ? "serve-user" : "serve"
    }

    // MARK: - Launches

    /// Returns the keeper of a new launch.
    package func keeper(for launchID: IncidentID) -> LaunchKeeper {
        LaunchKeeper(launchID, creating: "\(directory.path)/\(launchID)\(Self.launchSuffix)".withoutSpareRoom)
    }

    /// Hands descriptors of a launch to the service manager, if there is one.
    package func store(_ descriptors: [OwnedDescriptor], of keeper: LaunchKeeper) {
        notifier?.store(descriptors, as: keeper.storeName)
    }

    /// Removes what is kept of a launch that is over.
    package func forget(_ keeper: LaunchKeeper) {
        keeper.remove()
        notifier?.removeStored(keeper.storeName)
    }

    /// Reports the first problem only, so that a full disk does not fill the journal.
    package func tell(_ problem: String) {
        guard !hasFailed else { return }
        hasFailed = true
        onProblem("\(problem); if watchdogd ends now, the next one may not know all of its apps")
    }

    /// What the previous watchdogd left.
    ///
    /// - Parameter passed: the descriptors passed to this process at its start.
    package func inherit(_ passed: PassedDescriptors) -> Inheritance {
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

    /// Takes the descriptors after a re-execution: the process is the same, and so are the numbers.
    private static func take(_ descriptors: LaunchState.Descriptors) -> [OwnedDescriptor] {
        descriptors.all.compactMap { number in
            guard number > STDERR_FILENO, fcntl(number, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
            return OwnedDescriptor(taking: number)
        }
    }

    // MARK: - Apps

    /// Saves the state of an app beyond its launches.
    package func keep(_ state: KeptApp, of app: String) {
        do {
            let bytes = try StateEncoder.encode(state)
            let file =
                try appFiles[app]
                ?? StateFile(
                    creating: "\(directory.path)/\(app)\(Self.appSuffix)".withoutSpareRoom, format: KeptApp.format,
                    capacity: Self.appCapacity, staysOpen: false)
            appFiles[app] = file
            defer { file.close() }
            try file.write(checkpoint: bytes)
        } catch {
            tell("the state of \(app) cannot be kept: \(error)")
        }
    }

    /// The saved state of an app; nil if there is none, or if it cannot be read, which is reported.
    package func kept(_ app: String) -> KeptApp? {
        let path = "\(directory.path)/\(app)\(Self.appSuffix)"
        guard access(path, F_OK) == 0 else { return nil }
        do {
            let file = try StateFile(opening: path, upTo: KeptApp.format)
            let state = try StateDecoder.decode(KeptApp.self, from: try file.contents().checkpoint)
            file.staysOpen = false
            appFiles[app] = file
            return state
        } catch let error as StateFileError where error.reason == .otherBoot {
            return nil
        } catch {
            let reason = (error as? StateFileError)?.description ?? "\(path) cannot be understood"
            onProblem("\(reason); \(app) starts over")
            return nil
        }
    }

    /// Removes the state of an app that is no longer configured.
    package func forget(app: String) {
        appFiles.removeValue(forKey: app)?.remove()
        unlink("\(directory.path)/\(app)\(Self.appSuffix)")
    }

    /// Removes the state of all other apps, whose files were removed while no watchdogd was running.
    package func forgetApps(besides known: Set<String> = []) {
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

/// What a daemon inherits when it starts.
package struct Inheritance {
    /// Launches that can be resumed.
    package var launches: [InheritedLaunch] = []
    /// Launches of which only the name and perhaps descriptors are left.
    package var unreadable: [(launchID: String, file: String?, descriptors: InheritedDescriptors)] = []
    /// Why they are unreadable.
    package var problems: [String] = []
}

/// Descriptors passed to this process at its start.
package struct PassedDescriptors {
    /// By the names they were stored under.
    var byName: [String: [OwnedDescriptor]] = [:]
    /// Whether this process re-executed itself, so that descriptors kept their numbers.
    package var isSameProcess = false

    /// Takes the descriptors from the service manager; call it before there is a second thread.
    ///
    /// Invalid inherited variables are reported, and do not keep watchdogd from supervising.
    package static func take() -> PassedDescriptors {
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
