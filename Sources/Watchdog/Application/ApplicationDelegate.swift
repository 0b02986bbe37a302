// SPDX-License-Identifier: Apache-2.0

/// The behavior of an app at its launch, its changes between foreground and background, and its exit.
///
/// Every callback has a default that does nothing; that for events reports them as lost. All run on the main actor, and while one runs, nothing else does: a
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
    /// The launch has begun; prepare here for restoring the state.
    func application(_ application: Application, willFinishLaunchingWith options: Application.LaunchOptions)

    /// Restores the state that ``applicationWillEncodeRestorableState(_:)`` returned in an earlier launch.
    ///
    /// Called between the two launch callbacks, if a state was saved. If that launch does not complete, the state is
    /// discarded, so that it cannot kill the app repeatedly.
    func application(_ application: Application, didDecodeRestorableState state: [UInt8])

    /// The launch is nearly complete; the app can be used when this returns.
    ///
    /// The event that caused the launch is delivered right after it, so set up its receivers here.
    func application(_ application: Application, didFinishLaunchingWith options: Application.LaunchOptions)

    /// The app is now in use.
    func applicationDidBecomeActive(_ application: Application)

    /// The app is about to become inactive.
    func applicationWillResignActive(_ application: Application)

    /// The app is in the background, and is suspended soon after this returns unless a background task keeps it running.
    ///
    /// Release whatever others may wait for, such as a database lock.
    func applicationDidEnterBackground(_ application: Application)

    /// The app is about to enter the foreground.
    func applicationWillEnterForeground(_ application: Application)

    /// The app exits when this returns.
    ///
    /// Not called for a suspended app, which is killed without notice; so save all important data on entering the
    /// background.
    func applicationWillTerminate(_ application: Application)

    /// Handles an event; returning from it tells the supervisor that the event is done.
    ///
    /// Call ``Application/loseEvent()`` if nothing listens for it.
    func application(_ application: Application, handle event: Application.Event)

    /// The file name under which the state is stored; nil to store none. The default is the name of the program.
    var restorationIdentifier: String? { get }

    /// The state to restore in the next launch; nil to discard it.
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

    /// Loses the event, because nothing listens for it.
    public func application(_ application: Application, handle event: Application.Event) { application.loseEvent() }

    /// The last component of the program's path.
    public var restorationIdentifier: String? {
        CommandLine.arguments.first?.split(separator: "/").last.map(String.init)
    }

    /// There is no state.
    public func applicationWillEncodeRestorableState(_ application: Application) -> [UInt8]? { nil }
}
