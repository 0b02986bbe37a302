// SPDX-License-Identifier: Apache-2.0

/// The interface to a running watchdogd.
///
/// It is varlink (https://varlink.org) over a Unix stream socket, so that programs in any language can use it.
public enum ControlInterface {
    /// The interface's name.
    public static let name = "org.watchdogd.Supervisor"

    /// The interface's definition, as `GetInterfaceDescription` returns it.
    public static let definition = """
        # The apps that watchdogd supervises: their state, and commands for them.
        #
        # Names of times end in USec: microseconds since 1970-01-01 00:00 UTC, or a duration in microseconds. Unknown values are
        # omitted. Later versions may add optional fields, states, kinds and errors.
        #
        # Everybody may see the names and states of apps. The right "inspect" (everything else about them, Reports and Metrics) and
        # the right "act" (Launch, Terminate, Restart, Foreground, Background, Suspend, Resume, SendEvent, Capture, Reload,
        # ReloadApp) belong to root and to the user whose watchdogd it is. Without "inspect", replies have isWithheld.
        interface org.watchdogd.Supervisor

        # stopped: not running, and will not be started; waiting: not running, and will be started again;
        # launching: running but not ready; running: ready; terminating: was asked to exit, or is exiting by itself;
        # capturing: its stacks are being captured; dying: was killed, and has not exited yet; failed: not running, and will
        # not be started because it has failed too often; unkillable: has processes that survive SIGKILL.
        type AppState (
          stopped,
          waiting,
          launching,
          running,
          terminating,
          capturing,
          dying,
          failed,
          unkillable
        )

        # The latest thing that went wrong with an app. Kinds: watchdog, hang, crash, exit, spawn.
        type Incident (
          kind: string,
          timeUSec: int,
          summary: string,
          event: ?string,
          verdict: ?string,
          report: ?string
        )

        # What keeps an app from answering. Reasons: stopped: by a signal; frozen, traced: by somebody; dumping-core: by the
        # kernel; probes: the latest failedProbes probes failed; neededProbes in a row are a hang; ping: the main loop has not
        # answered, or not done what it was told; push: most of the time for the next WATCHDOG=1 has passed, or all of it, unless
        # isInTime.
        type Silence (
          reason: string,
          sinceUSec: int,
          failedProbes: ?int,
          neededProbes: ?int,
          isInTime: ?bool
        )

        # An app in a list. isAnswering: whether it is ready and owes no answer; isWatched: whether anything can detect a hang of
        # it, once it is ready.
        type App (
          name: string,
          description: ?string,
          state: AppState,
          isAnswering: ?bool,
          silence: ?Silence,
          isWatched: ?bool,
          sinceUSec: int,
          pid: ?int,
          cgroup: ?string,
          uptimeUSec: ?int,
          restarts: int,
          nextLaunchUSec: ?int,
          lastIncident: ?Incident
        )

        # Limits: from execve to ready; for an answer of the main loop; from the request to exit until it has exited.
        type Allowances (
          launchUSec: int,
          updateUSec: int,
          terminateUSec: int
        )

        # A phase of a launch. It begins where the one before it ends; the first is exec, which begins with the request. Names, in
        # their order: exec, mapping, relocation, library-constructors, own-constructors, hello, first-frame, ready. A phase whose
        # end is not known is left out, and its time belongs to the next.
        type LaunchPhase (
          name: string,
          durationUSec: int
        )

        # The latest launch; durations begin with execve. Sources: channel, notify, probe, exec, assumed. request: from the request
        # to execve. extended: the end of the last launch task; openTasks: those that have not ended.
        type LaunchResult (
          durationUSec: int,
          source: string,
          requestUSec: ?int,
          helloUSec: ?int,
          firstFrameUSec: ?int,
          usefulUSec: ?int,
          extendedUSec: ?int,
          openTasks: ?[]string,
          phases: ?[]LaunchPhase
        )

        # A distribution of durations.
        type Latency (
          count: int,
          p50USec: ?int,
          p99USec: ?int,
          maxUSec: ?int
        )

        # A restart limit that was reached: the key that sets it, and the cause of restarts that it counts; without a cause, it
        # counts all restarts that have no limit of their own.
        type ReachedLimit (
          key: string,
          cause: ?string,
          restarts: int,
          intervalUSec: int
        )

        # Details of an app. Restarts are counted by cause: launch, hang, crash, exit, memory, request.
        # launchedFor: the event that the latest launch was made for, and what became of it. reachedLimit: the limit that prevents
        # or delays the next launch.
        # lifecycle: launching, foreground, inactive (between two states), background, suspended, terminating.
        # probes: successful probes, if the app is probed; failedProbes: those that failed while it was ready; probeRefusal: why it
        # cannot be probed; probeAdvice: what would watch it for hangs, if nothing does. lastAnswerUSec: when it last answered a
        # ping or a probe, or pushed.
        # output: where its standard output goes: journal, inherit, null, or the path of a file.
        # reportGaps: what its reports would lack now, because earlier reads of its memory have not returned.
        type AppDetails (
          file: ?string,
          isEnforced: bool,
          allowances: Allowances,
          launch: ?LaunchResult,
          launchedFor: ?string,
          restartsByCause: [string]int,
          reachedLimit: ?ReachedLimit,
          pings: Latency,
          probes: ?Latency,
          failedProbes: ?int,
          lastAnswerUSec: ?int,
          probeRefusal: ?string,
          probeAdvice: ?string,
          hangs: Latency,
          strayAnswers: int,
          lastExit: ?string,
          status: ?string,
          lifecycle: ?string,
          output: ?string,
          reportGaps: ?[]string
        )

        # A line of an app's output.
        type LogLine (
          timeUSec: ?int,
          text: string
        )

        type Severity (error, warning)

        # A problem in a configuration file; lines and columns count from 1.
        type Diagnostic (
          severity: Severity,
          file: string,
          line: ?int,
          column: ?int,
          message: string,
          suggestion: ?string
        )

        # A configuration file that cannot be used; its app is not listed.
        type InvalidFile (
          name: string,
          file: string,
          diagnostics: []Diagnostic
        )

        # A report in a list.
        type Report (
          incident: ?string,
          app: string,
          pid: ?int,
          timeUSec: int,
          event: ?string,
          verdict: ?string,
          path: string,
          sizeBytes: int
        )

        # Something that happened. The sequence counts from 1 without gaps since watchdogd was started. Kinds: launched, ready,
        # adopted, hung, credited, rebased, paused, resumed, extended, extensionRefused, terminating, exhausted, captureFailed,
        # reported, channelLost, exited, unkillable, restarting, limitReached, launchFailed, reloaded, lifecycle,
        # probeFailed, probeRecovered, probeImpossible, appReloaded, reloadFailed, leftBehind, marked, launchRegressed, slow,
        # messageRefused.
        type Event (
          sequence: int,
          timeUSec: int,
          app: ?string,
          kind: string,
          message: string,
          pid: ?int,
          report: ?string
        )

        # Lists all apps by name, and the files that cannot be used. Each entry is read when it is written, so a long list does not
        # show all apps at the same instant.
        method List() -> (apps: []App, invalid: []InvalidFile, isWithheld: ?bool)

        # Describes one app, with at most 200 log lines, oldest first. Without the right "inspect", the reply has no details and no
        # log lines.
        method Describe(name: string, logLines: ?int) -> (
          app: App,
          details: ?AppDetails,
          log: []LogLine,
          isLogWithheld: bool,
          isWithheld: ?bool
        )

        # Describes the daemon. In a turn, its event loop handles one event and does nothing else. recentTurnUSec is the longest
        # turn of the last minute. reports: the folder of crash logs; requires the right "inspect".
        method DescribeDaemon() -> (
          version: string,
          pid: int,
          apps: int,
          reports: ?string,
          longestTurnUSec: int,
          recentTurnUSec: int
        )

        # Launches an app that is not running. Replies when the request is accepted or, with wait, when the app is ready. If the
        # app exits successfully before that, ended says how.
        method Launch(name: string, wait: ?bool) -> (pid: ?int, ended: ?string)

        # Asks an app to exit, and kills it if it exceeds its allowance. Replies when the request is accepted or, with wait, when
        # no process of the app is left.
        method Terminate(name: string, wait: ?bool) -> (isGone: bool)

        # Terminates an app if it is running, and launches it. Replies when the request is accepted or, with wait, when the new
        # process is ready or has exited successfully.
        method Restart(name: string, wait: ?bool) -> (pid: ?int, ended: ?string)

        # Moves an app to the foreground; resumes it first if it is suspended. Replies when the request is accepted or, with wait,
        # when the app is in the foreground; the next three methods do the same. state: as lifecycle in AppDetails.
        method Foreground(name: string, wait: ?bool) -> (state: string)

        # Moves an app to the background; resumes it first if it is suspended.
        method Background(name: string, wait: ?bool) -> (state: string)

        # Suspends an app: moves it to the background, lets it end its tasks, and freezes it.
        method Suspend(name: string, wait: ?bool) -> (state: string)

        # Resumes a suspended app, in the background if it takes part in the lifecycle.
        method Resume(name: string, wait: ?bool) -> (state: string)

        # Sends an event to an app, which handles it on its main loop. Replies when the event is sent or, with wait, when it is
        # handled; then it is an error if nothing in the app listens for it. With launch, launches the app first if it is not
        # running. kind: at most 64 bytes; payload: at most 2048 bytes; one line each. The app learns which app has asked.
        method SendEvent(name: string, kind: string, payload: ?string, wait: ?bool, launch: ?bool) -> (state: string)

        # Captures the stacks of a running app, which continues, and replies when the report is written.
        method Capture(name: string) -> (report: string, verdict: ?string)

        # Sends events as they happen, until the connection is closed; call it with "more". The first reply has no event: no event
        # after it is missed. Then come the latest events of the history, if requested. With follow false, an empty reply ends the
        # history and the call. A client that does not read in time receives the number of events, of any app, that it missed. The
        # name of an app that does not exist is an error. Without the right "inspect", the message of an event is its kind in words.
        method Monitor(apps: ?[]string, history: ?int, follow: ?bool) -> (event: ?Event, missed: ?int, isWithheld: ?bool)

        # A change of an app that a reload would make: its settings before and after, as Key=value, without those that stay.
        type AppChange (
          name: string,
          endsProcess: bool,
          removed: []string,
          added: []string
        )

        # Reads the configuration again. Either all of it is valid and takes effect, or nothing changes; apps whose configuration
        # is the same are not touched. With dryRun, nothing changes, and the reply says what would.
        method Reload(dryRun: ?bool) -> (
          added: []string,
          changed: []string,
          removed: []string,
          restarted: ?[]string,
          unchanged: int,
          warnings: []Diagnostic,
          changes: ?[]AppChange
        )

        # Makes an app reload its own configuration: runs its ExecReload= commands one after the other, and if the app then sends
        # RELOADING=1, waits for READY=1. Replies when the request is accepted or, with wait, when the reload is complete.
        # isConfirmed: the app itself sent READY=1.
        method ReloadApp(name: string, wait: ?bool) -> (durationUSec: ?int, isConfirmed: bool)

        # Lists the latest reports, newest first. Requires the right "inspect".
        method Reports(app: ?string, limit: ?int) -> (reports: []Report)

        # Returns the metrics of the daemon and its apps in the Prometheus text format, version 0.0.4, in parts to be concatenated.
        # Each part ends with a newline. Requires the right "inspect".
        method Metrics() -> (parts: []string)

        # There is no app with this name; the suggestion is the nearest name.
        error NoSuchApp (name: string, suggestion: ?string)

        # The caller lacks a right, which only root and the owner have.
        error NotPermitted (right: string, user: int, owner: int)

        # Files cannot be used. With a name: those of this app, which is therefore not listed. Without: nothing was changed.
        error InvalidConfiguration (diagnostics: []Diagnostic, name: ?string)

        # The app is already running.
        error AlreadyRunning (name: string, pid: ?int)

        # The app is not running.
        error NotRunning (name: string)

        # Processes of the app survive SIGKILL; no other instance is started beside them.
        error Unkillable (name: string, pid: ?int)

        # The app could not be started, or did not become ready.
        error LaunchFailed (name: string, reason: string)

        # The stacks could not be captured, or the report could not be written.
        error CaptureFailed (name: string, reason: string)

        # A reload command failed, or the reload was not complete in time.
        error ReloadFailed (name: string, reason: string)

        # The app was not asked: its state does not allow the request, or it takes no part in the lifecycle.
        error Refused (name: string, reason: string)

        # Nothing in the app listens for the event, which is lost.
        error EventLost (name: string, kind: string)

        # watchdogd is shutting down.
        error ShuttingDown ()

        # The caller has reached its limit of connections; this one is closed.
        error TooManyConnections (limit: int)

        # The message is not a valid call; the connection is closed.
        error MalformedMessage (reason: string)

        # The call failed for another reason.
        error Failed (reason: string)

        """

    static let serviceName = "org.varlink.service"

    /// Source: https://varlink.org/Service; `ExpectedMore` and `PermissionDenied` are later additions to it.
    static let serviceDefinition = """
        # What every varlink service can be asked.
        interface org.varlink.service

        # Who the service is, and its interfaces.
        method GetInfo() -> (
          vendor: string,
          product: string,
          version: string,
          url: string,
          interfaces: []string
        )

        # The definition of an interface.
        method GetInterfaceDescription(interface: string) -> (description: string)

        # There is no such interface.
        error InterfaceNotFound (interface: string)

        # The interface has no such method.
        error MethodNotFound (method: string)

        # The method is not implemented.
        error MethodNotImplemented (method: string)

        # A parameter is missing, unknown or of the wrong kind.
        error InvalidParameter (parameter: string)

        # The caller may not do that.
        error PermissionDenied ()

        # The method answers more than once, and has to be called with "more".
        error ExpectedMore ()

        """

    /// The definition of an interface; nil if there is none with this name.
    static func definition(of name: String) -> String? {
        switch name {
        case Self.name: definition
        case serviceName: serviceDefinition
        default: nil
        }
    }
}
