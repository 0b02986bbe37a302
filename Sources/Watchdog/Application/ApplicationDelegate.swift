// SPDX-License-Identifier: Apache-2.0

/// What an app does when it is launched, comes to the foreground, goes to the background and ends.
///
/// Every callback has a default that does nothing. All are called on the main actor, and while one runs nothing else does: a
/// callback that takes long is a hang. Each has an allowance, after which the supervisor kills the app:
///
/// | callback | allowance of watchdogd, unless configured otherwise |
/// | --- | --- |
/// | everything until the app is ready | 20 s for the launch |
/// | ``applicationDidEnterBackground(_:)``, with encoding the state | 5 s |
/// | ``applicationWillEnterForeground(_:)``, ``applicationDidBecomeActive(_:)``, ``application(_:handle:)`` | 10 s |
/// | ``applicationWillTerminate(_:)`` | 5 s |
///
/// ## Topics
/// ### Launch
/// - ``application(_:willFinishLaunchingWith:)``
/// - ``application(_:didDecodeRestorableState:)``
/// - ``application(_:didFinishLaunchingWith:)``
/// ### States
/// - ``applicationDidBecomeActive(_:)``
/// - ``applicationWillResignActive(_:)``
/// - ``applicationDidEnterBackground(_:)``
/// - ``applicationWillEnterForeground(_:)``
/// - ``applicationWillTerminate(_:)``
/// ### Events
/// - ``application(_:handle:)``
/// ### State restoration
/// - ``restorationIdentifier``
/// - ``applicationWillEncodeRestorableState(_:)``
@MainActor
public protocol ApplicationDelegate: AnyObject {
    /// The launch has begun; what restoring the state needs has to be set up here.
    func application(_ application: Application, willFinishLaunchingWith options: Application.LaunchOptions)

    /// The state that ``applicationWillEncodeRestorableState(_:)`` returned in an earlier life is there again.
    ///
    /// Called between the two launch callbacks, if there is a state. A state with which a launch did not come to its end is not
    /// offered a second time, so that no app dies of its state again and again.
    func application(_ application: Application, didDecodeRestorableState state: [UInt8])

    /// The launch is nearly over; the app can be used when this returns.
    ///
    /// The event that caused the launch is delivered right after it, so whoever listens has to be in place.
    func application(_ application: Application, didFinishLaunchingWith options: Application.LaunchOptions)

    /// The app serves somebody from now on.
    func applicationDidBecomeActive(_ application: Application)

    /// The app stops serving somebody now.
    func applicationWillResignActive(_ application: Application)

    /// The app is out of sight and is suspended soon after this has returned, unless a background task keeps it running.
    ///
    /// Nothing that others may wait for, such as the lock of a database, may be held then.
    func applicationDidEnterBackground(_ application: Application)

    /// The app is about to be in sight again.
    func applicationWillEnterForeground(_ application: Application)

    /// The app ends when this returns.
    ///
    /// Not called for an app that is suspended: it is killed without notice. What must not be lost is saved when the app enters
    /// the background.
    func applicationWillTerminate(_ application: Application)

    /// Handles an event.
    func application(_ application: Application, handle event: Application.Event)

    /// The name under which the state is kept: one file name; nil to keep none. By default the name of the program.
    var restorationIdentifier: String? { get }

    /// The state to restore in the next life; nil to forget it.
    ///
    /// Called after ``applicationDidEnterBackground(_:)`` and before ``applicationWillTerminate(_:)``. Keep it small: it is
    /// written before the app may be suspended.
    func applicationWillEncodeRestorableState(_ application: Application) -> [UInt8]?
}

extension ApplicationDelegate {
    /// Does nothing.
    public func application(_ application: Application, willFinishLaunchingWith options: Application.LaunchOptions) {}

    /// Does nothing.
    public func application(_ application: Application, didDecodeRestorableState state: [UInt8]) {}

    /// Does nothing.
    public func application(_ application: Application, didFinishLaunchingWith options: Application.LaunchOptions) {}

    /// Does nothing.
    public func applicationDidBecomeActive(_ application: Application) {}

    /// Does nothing.
    public func applicationWillResignActive(_ application: Application) {}

    /// Does nothing.
    public func applicationDidEnterBackground(_ application: Application) {}

    /// Does nothing.
    public func applicationWillEnterForeground(_ application: Application) {}

    /// Does nothing.
    public func applicationWillTerminate(_ application: Application) {}

    /// Does nothing.
    public func application(_ application: Application, handle event: Application.Event) {}

    /// The last part of the program's path.
    public var restorationIdentifier: String? {
        CommandLine.arguments.first?.split(separator: "/").last.map(String.init)
    }

    /// There is no state.
    public func applicationWillEncodeRestorableState(_ application: Application) -> [UInt8]? { nil }
}
