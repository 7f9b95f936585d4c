import NotifySystem
import TestSupport
import Testing

@testable import NotifyServer

@Suite struct ServiceUnitTests {
    private static let units: [(process: Int32, cgroups: String?, isOfUser: Bool?)] = [
        (1, "0::/init.scope\n", false),
        (500, "0::/system.slice/notifyd.service\n", false),
        (500, "12:pids:/\n1:name=systemd:/system.slice/notifyd.service\n0::/system.slice/notifyd.service\n", false),
        (500, "0::/user.slice/user-1000.slice/user@1000.service/app.slice/notifyd.service\n", true),
        (500, "0::/user.slice/user-1000.slice/user@1000.service/init.scope\n", true),
        (500, "0::/user.slice/user-1000.slice/session-2.scope\n", nil),
        (500, "0::/system.slice/runner.service\n", nil),
        (500, "0::/system.slice/mynotifyd.service\n", nil),
        (500, "", nil),
        (500, nil, false),
    ]

    @Test(arguments: units)
    func `the cgroup of the process names the unit`(_ process: Int32, _ cgroups: String?, _ isOfUser: Bool?) {
        #expect(ServiceUnit(process: process, userID: 12_345, cgroups: cgroups)?.isOfUser == isOfUser)
    }

    @Test func `the refusal names the command of the service manager`() throws {
        let system = try #require(ServiceUnit(process: 1, userID: 0, cgroups: "")).refusal(of: "/s")
        #expect(system.code == .socketInUse)
        #expect(system.message.contains("\"systemctl stop notifyd.socket notifyd.service\""))
        let user = try #require(ServiceUnit(process: 2, userID: 1, cgroups: "0::/user@1.service/notifyd.service"))
        #expect(user.refusal(of: "/s").message.contains("\"systemctl --user stop notifyd.socket"))
    }

    @Test func `a socket that no service serves has no unit`() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("n.sock")
        let address = try #require(UnixSocketAddress(path: path))
        #expect(ServiceUnit(serving: address) == nil)
        let listening = try ListeningSocket.bind(path: path, mode: 0o600)
        #expect(ServiceUnit(serving: address) == nil)
        listening.removeFile()
    }
}
