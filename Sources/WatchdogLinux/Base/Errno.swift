// SPDX-License-Identifier: Apache-2.0

import CLinux
import Glibc

/// An error number of the kernel: "No such file or directory (ENOENT)".
public struct Errno: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number, as in `errno`.
    public let rawValue: Int32

    /// Creates an error number.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The calling thread's `errno`; to be read before any other call.
    static var current: Errno {
        Errno(rawValue: errno)
    }

    /// `EPERM`: not permitted.
    public static let notPermitted = Errno(rawValue: EPERM)
    /// `ENOENT`: no such file or directory.
    public static let noSuchFile = Errno(rawValue: ENOENT)
    /// `ESRCH`: no such process.
    public static let noSuchProcess = Errno(rawValue: ESRCH)
    /// `ECHILD`: not a child, or reaped already.
    public static let noChild = Errno(rawValue: ECHILD)
    /// `EACCES`: permission denied.
    public static let permissionDenied = Errno(rawValue: EACCES)
    /// `EINVAL`: invalid argument.
    public static let invalidArgument = Errno(rawValue: EINVAL)
    /// `ETIMEDOUT`: not done within the limit.
    public static let timedOut = Errno(rawValue: ETIMEDOUT)
    /// `E2BIG`: the arguments and environment are too long.
    public static let argumentsTooLong = Errno(rawValue: E2BIG)
    /// `ENOEXEC`: not a program that the kernel can run.
    public static let notAProgram = Errno(rawValue: ENOEXEC)
    /// `EINTR`: a signal interrupted the call.
    public static let interrupted = Errno(rawValue: EINTR)
    /// `EAGAIN`: nothing there now, or no room now.
    public static let wouldBlock = Errno(rawValue: EAGAIN)
    /// `ECONNRESET`: the other side has gone and left messages unread.
    public static let connectionReset = Errno(rawValue: ECONNRESET)
    /// `EADDRINUSE`: somebody else is bound to the address.
    public static let addressInUse = Errno(rawValue: EADDRINUSE)
    /// `EPIPE`: nobody reads any more.
    public static let brokenPipe = Errno(rawValue: EPIPE)
    /// `EEXIST`: exists already.
    public static let fileExists = Errno(rawValue: EEXIST)
    /// `EBUSY`: in use.
    public static let busy = Errno(rawValue: EBUSY)
    /// `EMSGSIZE`: the datagram is too long.
    public static let messageTooLong = Errno(rawValue: EMSGSIZE)
    /// `ENXIO`: nobody reads the FIFO, or there is no such device.
    public static let noSuchDevice = Errno(rawValue: ENXIO)
    /// `ELOOP`: a symbolic link, where none is followed.
    public static let tooManyLinks = Errno(rawValue: ELOOP)
    /// `ENAMETOOLONG`: the name is too long.
    public static let nameTooLong = Errno(rawValue: ENAMETOOLONG)

    /// The symbolic name, such as `ENOENT`, or the number if it has none.
    public var name: String {
        wd_errno_name(rawValue).map { String(cString: $0) } ?? "errno \(rawValue)"
    }

    /// The words of the C library and the symbolic name, such as "No such file or directory (ENOENT)".
    public var description: String {
        let words = wd_errno_text(rawValue).map { String(cString: $0) } ?? "Unknown error"
        return "\(words) (\(name))"
    }
}
