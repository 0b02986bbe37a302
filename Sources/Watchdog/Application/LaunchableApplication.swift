// SPDX-License-Identifier: Apache-2.0

/// A delegate that is a whole program, for `@main`.
///
/// ```swift
/// @main
/// final class Clock: LaunchableApplication {
///     func applicationDidBecomeActive(_ application: Application) { print("tick") }
/// }
/// ```
@MainActor
public protocol LaunchableApplication: ApplicationDelegate {
    /// Creates the delegate, before the app is launched.
    init()
}

extension LaunchableApplication {
    /// Runs the app.
    public static func main() {
        Application.main(Self())
    }
}
