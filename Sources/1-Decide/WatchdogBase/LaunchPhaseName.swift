// SPDX-License-Identifier: Apache-2.0

/// The phases of a supervised launch; the raw value is the name in reports, replies and metrics.
///
/// They follow each other without gaps from the request to ready. One whose end is not known is left out, and its time
/// belongs to the next. A new case goes last: the launch history keeps the position of each.
public enum LaunchPhaseName: String, Hashable, Sendable, CaseIterable {
    /// From the request until the program is executed.
    case exec
    /// The kernel and the dynamic linker map the program and its libraries.
    case mapping
    /// The dynamic linker resolves references between them.
    case relocation
    /// The constructors of libraries run.
    case libraryConstructors = "library-constructors"
    /// The program's own constructors run.
    case ownConstructors = "own-constructors"
    /// Until the app says hello.
    case hello
    /// Until the app reports its first frame.
    case firstFrame = "first-frame"
    /// Until the app is ready.
    case ready

    /// Whether it is named after what happens in it, not after what ends it.
    public var isActivity: Bool {
        switch self {
        case .mapping, .relocation, .libraryConstructors, .ownConstructors: true
        case .exec, .hello, .firstFrame, .ready: false
        }
    }

    /// The name for people.
    public var title: String {
        switch self {
        case .mapping: "map libraries"
        case .relocation: "relocate"
        case .libraryConstructors: "library constructors"
        case .ownConstructors: "own constructors"
        case .firstFrame: "first frame"
        case .exec, .hello, .ready: rawValue
        }
    }

    /// The name for people that does not need the phases before it: `until ready`.
    public var fullTitle: String {
        switch self {
        case .hello, .firstFrame, .ready: "until \(title)"
        case .exec, .mapping, .relocation, .libraryConstructors, .ownConstructors: title
        }
    }
}
