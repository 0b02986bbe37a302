// SPDX-License-Identifier: Apache-2.0

import Glibc
import TestSupport
import Testing
import WatchdogBase
import WatchdogLinux

@testable import WatchdogControl

/// Calls the server with a client made for other varlink services.
@Suite("Foreign client", .reapsChildren)
struct ForeignClientTests {
    private static let program = """
        import sys, varlink
        with varlink.Client(address='unix:' + sys.argv[1]) as client:
            print(sorted(client.get_interfaces()))
            own = 'org.watchdogd.Supervisor'
            interface = client.get_interface(own)
            methods = [name for name, member in interface.members.items() if hasattr(member, 'in_type')]
            print(len(interface.get_description()), ' '.join(methods))
            with client.open('org.varlink.service') as service:
                print(service.GetInfo()['product'], service.GetInfo()['version'])
                try:
                    service.GetInterfaceDescription('org.example.None')
                except varlink.InterfaceNotFound as error:
                    print('InterfaceNotFound', error.parameters())
            with client.open(own) as supervisor:
                reply = supervisor.List()
                print([(app['name'], app['state'], app['pid'], app['uptimeUSec']) for app in reply['apps']])
                print(reply['invalid'][0]['diagnostics'][0]['severity'])
                description = supervisor.Describe('web')
                print(description['details']['allowances'], description['details']['restartsByCause'])
                print(description['log'], description['isLogWithheld'])
                print(supervisor.Launch('web'), supervisor.Terminate(name='web'), supervisor.Reload()['added'])
                print(supervisor.Launch('web', _oneway=True))
                for call in [lambda: supervisor.Launch('wbe'), lambda: supervisor.Monitor()]:
                    try:
                        call()
                    except varlink.VarlinkError as error:
                        print(error.error(), error.parameters())
                replies = supervisor.Monitor(apps=['web'], history=2, _more=True)
                print(next(replies))
                def tell():
                    event = next(replies)['event']
                    print(event['sequence'], event['app'], event['kind'], event['message'])
                tell(), tell()
                with client.open(own) as other:
                    print(other.Restart('web'))
                tell()
        """

    private static var interpreter: String {
        let own = Golden.root + "/.build/venv/bin/python3"
        return access(own, X_OK) == 0 ? own : "/usr/bin/python3"
    }

    private func request(_ arguments: [String]) -> SpawnRequest {
        // An interpreter finds its environment by its own path.
        SpawnRequest(
            executable: Self.interpreter, arguments: [Self.interpreter] + arguments,
            environment: ["PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8"])
    }

    @Test("the varlink client from PyPI lists interfaces, calls methods and reads events")
    func varlink() throws {
        let handler = FakeHandler()
        handler.invalidFiles = Samples.list.invalidFiles
        handler.log = [LogLine(text: "tschüß")]
        let station = try Station(handler)
        guard access(Self.interpreter, X_OK) == 0,
            try station.run(request(["-c", "import varlink; print('here')"])) == "here\n"
        else {
            print("skipped: \(Self.interpreter) has no module varlink (scripts/setup installs it)")
            return
        }
        let server = station.server
        for number in 1...3 {
            server.publish(ControlEvent(.ready, app: "web", message: "event \(number)", time: .now()))
        }
        handler.onRestart = {
            server.publish(ControlEvent(.exited, app: "api", message: "not wanted", time: .now()))
            server.publish(ControlEvent(.exited, app: "web", message: "exited with code 1", time: .now()))
        }
        let output = try station.run(request(["-c", Self.program, station.path]))
        let length = ControlInterface.definition.utf8.count
        #expect(
            output == """
                ['org.varlink.service', 'org.watchdogd.Supervisor']
                \(length) List Describe DescribeDaemon Launch Terminate Restart Foreground Background Suspend Resume \
                SendEvent Capture Monitor Reload ReloadApp Reports Metrics
                watchdogd 1.2.3
                InterfaceNotFound {'interface': 'org.example.None'}
                [('api', 'running', 100, 60000000), ('web', 'running', 101, 60000000)]
                error
                {'launchUSec': 20000000, 'updateUSec': 10000000, 'terminateUSec': 5000000} {}
                [{'text': 'tschüß'}] False
                {'pid': 4711} {'isGone': False} ['new']
                None
                org.watchdogd.Supervisor.NoSuchApp {'name': 'wbe', 'suggestion': 'web'}
                org.varlink.service.ExpectedMore {}
                {}
                2 web ready event 2
                3 web ready event 3
                {}
                5 web exited exited with code 1

                """)
        #expect(
            handler.calls == [
                "describe web 10", "launch web", "terminate web", "reload", "launch web", "launch wbe",
                "restart web by \(geteuid())",
            ])
    }
}
