// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import WatchdogConfiguration
import WatchdogLaunch
import WatchdogLinux

/// A drop-in of a unit on this machine.
struct UnitDropIn {
    let path: String

    /// The complete name of a service.
    static func unit(_ text: String) throws -> String {
        do {
            if case .service(let name) = try ObservedTarget(parsing: text) { return name }
            throw ValidationError("\(text) is not a service; use a name such as nginx.service")
        } catch let error as ObservedTarget.ParseError {
            throw ValidationError(error.description)
        }
    }

    /// The present text; nil if there is none.
    var text: String? {
        get throws {
            guard access(path, F_OK) == 0 else { return nil }
            do {
                return String(decoding: try HostFileSystem().contents(of: path, limit: 1 << 20), as: UTF8.self)
            } catch {
                StandardError.say("\(path): \(error)")
                throw ExitCode(66)
            }
        }
    }

    func write(_ text: String, in directory: String) throws {
        guard mkdir(directory, 0o755) == 0 || errno == EEXIST else {
            StandardError.say("cannot create \(directory): \(String(cString: strerror(errno)))")
            throw ExitCode(errno == EACCES || errno == EPERM ? 77 : 73)
        }
        do throws(LinuxError) {
            try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644)
        } catch {
            StandardError.say(error.description)
            throw ExitCode(73)
        }
    }

    func remove() throws {
        guard unlink(path) == 0 else {
            StandardError.say("cannot remove \(path): \(String(cString: strerror(errno)))")
            throw ExitCode(errno == EACCES || errno == EPERM ? 77 : 73)
        }
        // Fails if there are other drop-ins.
        let end = path.lastIndex(of: "/") ?? path.endIndex
        rmdir(String(path[..<end]))
    }
}
