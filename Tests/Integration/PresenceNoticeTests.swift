import Foundation
import Testing

extension IntegrationTests {
    /// The daemon's posts about clients that connect and disconnect.
    @Suite struct PresenceNoticeTests {
        @Test func `the connection and the end of a client are posted`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_PRESENCE": "true"])
            let format = "{name} {payload}"
            let watcher = try Notifyctl(daemon).start(["subscribe", "notifyd.clients.>", "--format", format])
            try daemon.waitForSubscriptions(1)
            let client = try Notifyctl(daemon).start(["ping"])
            #expect(try await client.waitForExit() == .status(0))
            // The test itself connects and disconnects, too.
            let peer = "{\"uid\":\(getuid()),\"gid\":\(getgid()),\"pid\":\(client.pid),\"connection\":"
            let notices = try await watcher.standardOutput.wait("two notices") { output in
                let notices = output.lines.filter { $0.contains(peer) }
                return notices.count < 2 ? nil : notices
            }
            let name = "notifyd.clients.\(getuid())"
            #expect(notices[0].hasPrefix("\(name).connected \(peer)"))
            #expect(notices[1].hasPrefix("\(name).disconnected \(peer)"))
            #expect(notices[0].split(separator: " ").last == notices[1].split(separator: " ").last)
        }
    }
}
