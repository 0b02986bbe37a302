// SPDX-License-Identifier: Apache-2.0

/// The interface to a running watchdogd.
///
/// It is varlink (https://varlink.org) over a Unix stream socket, so that programs in any language can use it.
public enum ControlInterface {
    /// The interface's name.
    public static let name = "org.watchdogd.Supervisor"

    /// The interface's definition, as `GetInterfaceDescription` returns it.
    public static let definition = """
        # The apps that a watchdogd supervises: what they do, and what is to be done with them.
        #
        # Times end in USec: microseconds since 1970-01-01 00:00 UTC, or a duration in microseconds. What is not known is
        # left out. Later versions may add optional fields, states, kinds and errors.
        #
        # Everybody may see the names and states of apps. Right "inspect" (everything else about them, Reports and Metrics) and
        # right "act" (Launch, Terminate, Restart, Foreground, Background, Suspend, Resume, SendEvent, Capture, Reload,
        # ReloadApp) belong to root and to the user whose watchdogd it is. Without "inspect", replies have isWithheld.
        interface org.watchdogd.Supervisor

        # stopped: not running, and nothing will start it; waiting: not running, and will be started again;
        # launching: runs and is not ready; running: is ready; terminating: was asked to end, or ends by its own will;
        # capturing: its stacks are being captured; dying: was killed, and its death is awaited; failed: not running, and
        # not started again because it has failed too often; unkillable: processes of it outlive SIGKILL.
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

        # An app in a list.
        type App (
          name: string,
          description: ?string,
          state: AppState,
          isAnswering: ?bool,
          sinceUSec: int,
          pid: ?int,
          uptimeUSec: ?int,
          restarts: int,
          nextLaunchUSec: ?int,
          lastIncident: ?Incident
        )

        # From execve to ready, for an answer of the main loop, from the request to end until gone.
        type Allowances (
          launchUSec: int,
          updateUSec: int,
          terminateUSec: int
        )

        # How the latest launch went, from execve. Sources: channel, notify, probe, exec, assumed. Request: from the request to
        # execve. Extended: the end of its last task; tasks: those that are open.
        type LaunchResult (
          durationUSec: int,
          source: string,
          requestUSec: ?int,
          helloUSec: ?int,
          firstFrameUSec: ?int,
          usefulUSec: ?int,
          extendedUSec: ?int,
          openTasks: ?[]string
        )

        # How long something took.
        type Latency (
          count: int,
          p50USec: ?int,
          p99USec: ?int,
          maxUSec: ?int
        )

        # A limit of restarts that is reached: the key that sets it, and the cause that it counts, or all that have none of
        # their own.
        type ReachedLimit (
          key: string,
          cause: ?string,
          restarts: int,
          intervalUSec: int
        )

        # An app, beyond what a list tells. Restarts are counted by cause: launch, hang, crash, exit, memory, request.
        # Reached limit: keeps the app down, or its next launch away.
        # Lifecycle: launching, foreground, inactive (on its way between two states), background, suspended, terminating.
        # Probes: those that succeeded, of an app that is probed; their refusal: why it cannot be.
        # Output: where its standard output goes: journal, inherit, null, or the path of a file.
        type AppDetails (
          file: ?string,
          isEnforced: bool,
          allowances: Allowances,
          launch: ?LaunchResult,
          restartsByCause: [string]int,
          reachedLimit: ?ReachedLimit,
          pings: Latency,
          probes: ?Latency,
          probeRefusal: ?string,
          hangs: Latency,
          strayAnswers: int,
          lastExit: ?string,
          status: ?string,
          lifecycle: ?string,
          output: ?string
        )

        # What an app has printed.
        type LogLine (
          timeUSec: ?int,
          text: string
        )

        type Severity (error, warning)

        # What is wrong with a configuration file; lines and columns count from 1.
        type Diagnostic (
          severity: Severity,
          file: string,
          line: ?int,
          column: ?int,
          message: string,
          suggestion: ?string
        )

        # A configuration file that cannot be used, so that its app is not there.
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
        # probeFailed, probeRecovered, probeImpossible, appReloaded, reloadFailed, leftBehind, marked, launchRegressed.
        type Event (
          sequence: int,
          timeUSec: int,
          app: ?string,
          kind: string,
          message: string,
          pid: ?int,
          report: ?string
        )

        # All apps in the order of their names, and the files that cannot be used. Each app is reported as it is when its turn
        # comes to be written: a long list is no picture of one instant.
        method List() -> (apps: []App, invalid: []InvalidFile, isWithheld: ?bool)

        # One app. At most 200 log lines are given, oldest first. Without right "inspect" there are no details and no log
        # lines.
        method Describe(name: string, logLines: ?int) -> (
          app: App,
          details: ?AppDetails,
          log: []LogLine,
          isLogWithheld: bool,
          isWithheld: ?bool
        )

        # The daemon itself. A turn of its loop is the handling of one event: nothing else happens meanwhile. The recent one is
        # the longest of the last minute.
        method DescribeDaemon() -> (
          version: string,
          pid: int,
          apps: int,
          longestTurnUSec: int,
          recentTurnUSec: int
        )

        # Starts an app that is not running. The reply comes when the request is accepted or, with wait, when the app is ready.
        # Of an app that has done its work before that, it says how it ended.
        method Launch(name: string, wait: ?bool) -> (pid: ?int, ended: ?string)

        # Asks an app to end, and kills it when its allowance for that is exhausted. The reply comes when the request is
        # accepted or, with wait, when no process of it is left.
        method Terminate(name: string, wait: ?bool) -> (isGone: bool)

        # Terminates an app, if it runs, and launches it. The reply comes when the request is accepted or, with wait, when
        # the new process is ready, or has done its work.
        method Restart(name: string, wait: ?bool) -> (pid: ?int, ended: ?string)

        # Asks an app to serve somebody; a suspended one is resumed for it. The reply comes when the request is accepted or,
        # with wait, when the app is there; so it is with the three that follow. State: as lifecycle in AppDetails.
        method Foreground(name: string, wait: ?bool) -> (state: string)

        # Asks an app to go out of sight; a suspended one is resumed for it.
        method Background(name: string, wait: ?bool) -> (state: string)

        # Stops an app, after a chance to tidy up: it goes to the background, ends its tasks, and is frozen.
        method Suspend(name: string, wait: ?bool) -> (state: string)

        # Lets a suspended app run on: in the background, if it takes part in the lifecycle.
        method Resume(name: string, wait: ?bool) -> (state: string)

        # Sends an app something to handle on its main loop. The reply comes when it was sent or, with wait, when it was
        # handled. With launch, an app that is not running is launched for it. Kind: at most 64 bytes; payload: at most 2048
        # bytes; one line each.
        method SendEvent(name: string, kind: string, payload: ?string, wait: ?bool, launch: ?bool) -> (state: string)

        # Takes the stacks of a running app, which goes on, and replies when the report is written.
        method Capture(name: string) -> (report: string, verdict: ?string)

        # Tells what happens, until the connection is closed; to be called with "more". The first reply has no event: from
        # then on nothing is missed. First come the latest events of the history, if they are asked for. Who does not read in
        # time is told how many events (of any app) were missed. A name that no app has is an error. Without right "inspect",
        # the message of an event is its kind in words.
        method Monitor(apps: ?[]string, history: ?int) -> (event: ?Event, missed: ?int, isWithheld: ?bool)

        # Reads the configuration again. Everything is valid or nothing changes; apps that are configured as before are not
        # touched.
        method Reload() -> (
          added: []string,
          changed: []string,
          removed: []string,
          unchanged: int,
          warnings: []Diagnostic
        )

        # Makes an app read its own configuration again: runs its commands for that (ExecReload), one after the other, and if it
        # then says RELOADING=1, waits for its READY=1. The reply comes when the request is accepted or, with wait, when that is
        # done. IsConfirmed: the app itself has said so.
        method ReloadApp(name: string, wait: ?bool) -> (durationUSec: ?int, isConfirmed: bool)

        # The latest reports, newest first. Needs right "inspect".
        method Reports(app: ?string, limit: ?int) -> (reports: []Report)

        # The metrics of the daemon and its apps in the Prometheus text format, version 0.0.4. The parts, joined in their order,
        # are the text; each ends with a line. Needs right "inspect".
        method Metrics() -> (parts: []string)

        # There is no app of this name; the suggestion is the nearest one.
        error NoSuchApp (name: string, suggestion: ?string)

        # The caller lacks a right, which only root and the owner have.
        error NotPermitted (right: string, user: int, owner: int)

        # Files cannot be used. With a name: those of this app, which is not there for that reason. Without: nothing was changed.
        error InvalidConfiguration (diagnostics: []Diagnostic, name: ?string)

        # The app is already running.
        error AlreadyRunning (name: string, pid: ?int)

        # The app is not running.
        error NotRunning (name: string)

        # Processes of the app outlive SIGKILL; no other instance is started beside them.
        error Unkillable (name: string, pid: ?int)

        # The app could not be started, or did not become ready.
        error LaunchFailed (name: string, reason: string)

        # The stacks could not be taken, or the report not be written.
        error CaptureFailed (name: string, reason: string)

        # A command for it has failed, or not all was done in time.
        error ReloadFailed (name: string, reason: string)

        # The app was not asked: it is not where the request makes sense, or takes no part in the lifecycle.
        error Refused (name: string, reason: string)

        # watchdogd is ending.
        error ShuttingDown ()

        # There are as many connections as are allowed to this caller; this one is closed.
        error TooManyConnections (limit: int)

        # The connection carried what is not a call, and is closed.
        error MalformedMessage (reason: string)

        # It failed for another reason.
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
