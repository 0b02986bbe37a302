// SPDX-License-Identifier: Apache-2.0

// An app that saves data when it enters the background, in one right and several wrong ways.

import Dispatch
import Glibc
import Watchdog

@main
final class BackgroundSaver: LaunchableApplication {
    private let options = Options()
    private let queue = DispatchQueue(label: "saver")
    private let signposter = Signposter(category: "library")
    private var library: Library?
    private var saving: Saving?
    private var isLocked = false

    func application(_ application: Application, didFinishLaunchingWith launch: Application.LaunchOptions) {
        library = signposter.withIntervalSignpost("open") { Library(path: options.database) }
        say(launch.isInBackground ? "launched in the background" : "launched")
        application.firstFrame()
    }

    func applicationDidBecomeActive(_ application: Application) {
        if isLocked {
            library?.unlock()
            isLocked = false
        }
        say("active")
    }

    func applicationDidEnterBackground(_ application: Application) {
        say("background")
        guard let library else { return }
        guard options.behaviour != .lock else {
            library.lock()
            isLocked = true
            say("locked")
            return
        }
        if options.behaviour == .hoard {
            for page in 1..<1100 { _ = application.beginBackgroundTask(named: "Saving page \(page)") }
        }
        begin(in: application, library)
    }

    func applicationWillEnterForeground(_ application: Application) {
        saving?.stop()
        say("foreground")
    }

    func application(_ application: Application, handle event: Application.Event) {
        say("event \(event.kind) \(event.payload)")
        // `watchdogd conformance` sends this event to check that no other thread answers pings while the main loop is
        // blocked.
        if event.kind == "conformance-block" { poll(nil, 0, Int32(event.payload) ?? 0) }
    }

    func applicationWillTerminate(_ application: Application) {
        saving?.stop()
        queue.sync {}
        library?.close()
        say("ends")
    }

    // MARK: - Saving

    private func begin(in application: Application, _ library: Library) {
        let saving = Saving(options)
        self.saving = saving
        let task = application.beginBackgroundTask(named: "Saving library") { [self] in expired($0, application) }
        queue.async { [options, signposter] in
            let pages = signposter.withIntervalSignpost("save") { saving.run(library) }
            say("saved \(pages) pages")
            switch options.behaviour {
            case .finish, .expire: application.endBackgroundTask(task)
            case .overrun, .leak, .hoard, .lock: break
            }
        }
    }

    private func expired(_ task: Application.BackgroundTaskID, _ application: Application) {
        say("time is over")
        guard options.behaviour == .expire || options.behaviour == .finish else { return }
        saving?.stop()
        // Waits for at most one more page.
        queue.sync {}
        application.endBackgroundTask(task)
    }
}
