import NotifySystem
import Glibc
import NIOCore
import NIOPosix
import Testing
import TestSupport

@testable import NotifyServer

@Suite(.timeLimit(.minutes(25))) struct ServiceManagerNotifierTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `every state is sent to a socket at a path`() throws {
        let receiver = try DatagramReceiver(path: folder.file("notify"))
        let notifier = ServiceManagerNotifier(context: context(["NOTIFY_SOCKET": folder.file("notify")]))
        #expect(notifier.isActive)
        #expect(notifier.ready(status: "listening on /x"))
        #expect(receiver.next() == "READY=1\nSTATUS=listening on /x")
        #expect(notifier.status("degraded"))
        #expect(receiver.next() == "STATUS=degraded")
        #expect(notifier.sendKeepAlive())
        #expect(receiver.next() == "WATCHDOG=1")
        #expect(notifier.extendTimeout(by: .milliseconds(2500)))
        #expect(receiver.next() == "EXTEND_TIMEOUT_USEC=2500000")
        #expect(notifier.stopping(status: "draining"))
        #expect(receiver.next() == "STOPPING=1\nSTATUS=draining")
    }

    @Test func `a status can't add a field`() throws {
        let receiver = try DatagramReceiver(path: folder.file("notify"))
        let notifier = ServiceManagerNotifier(context: context(["NOTIFY_SOCKET": folder.file("notify")]))
        notifier.status("a\nMAINPID=1\r\nb")
        #expect(receiver.next() == "STATUS=a MAINPID=1 b")
    }

    @Test func `states are sent to an abstract address`() throws {
        let name = "notifyd-test-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let address = try #require(UnixSocketAddress(abstractName: name))
        let receiver = try DatagramReceiver(address)
        let notifier = ServiceManagerNotifier(context: context(["NOTIFY_SOCKET": "@" + name]))
        #expect(notifier.sendKeepAlive())
        #expect(receiver.next() == "WATCHDOG=1")
    }

    @Test(arguments: [nil, "", "vsock:2:1234", "relative", "@", "/" + String(repeating: "x", count: 107)] as [String?])
    func `without a usable address, nothing is sent`(_ socket: String?) {
        let notifier = ServiceManagerNotifier(context: context(socket.map { ["NOTIFY_SOCKET": $0] } ?? [:]))
        #expect(!notifier.isActive || socket == "@")
        #expect(!notifier.ready(status: "x"))
    }

    @Test func `sending does not block, and reports a socket that is missing or full`() throws {
        let gone = ServiceManagerNotifier(context: context(["NOTIFY_SOCKET": folder.file("nobody")]))
        #expect(!gone.sendKeepAlive())
        let receiver = try DatagramReceiver(path: folder.file("notify"))
        let notifier = ServiceManagerNotifier(context: context(["NOTIFY_SOCKET": folder.file("notify")]))
        var sent = 0
        while sent < 100_000, notifier.sendKeepAlive() { sent += 1 }
        #expect((1..<100_000).contains(sent))
        #expect(receiver.next() == "WATCHDOG=1")
    }

    private static let watchdogs: [([String: String], Duration?)] = [
        (["WATCHDOG_USEC": "30000000"], Duration.seconds(15)),
        (["WATCHDOG_USEC": "3", "WATCHDOG_PID": "4711"], .microseconds(1)),
        (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "4712"], nil),
        (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "x"], nil),
        (["WATCHDOG_USEC": "0"], nil), (["WATCHDOG_USEC": "-2"], nil), (["WATCHDOG_USEC": "soon"], nil),
        (["WATCHDOG_PID": "4711"], nil),
    ]

    @Test(arguments: watchdogs)
    func `the watchdog interval is half the configured time`(_ environment: [String: String], _ expected: Duration?) {
        #expect(ServiceManagerNotifier(context: context(environment)).watchdogInterval == expected)
    }

    @Test func `an event loop sends keep-alive messages to the watchdog if there is one`() throws {
        let receiver = try DatagramReceiver(path: folder.file("notify"))
        let environment = ["NOTIFY_SOCKET": folder.file("notify"), "WATCHDOG_USEC": "2000"]
        let notifier = ServiceManagerNotifier(context: context(environment))
        let task = try #require(notifier.sendKeepAlives(from: MultiThreadedEventLoopGroup.singleton.any()))
        #expect(receiver.next() == "WATCHDOG=1")
        #expect(receiver.next() == "WATCHDOG=1")
        task.cancel()
        let without = ServiceManagerNotifier(context: context(["NOTIFY_SOCKET": folder.file("notify")]))
        #expect(without.sendKeepAlives(from: MultiThreadedEventLoopGroup.singleton.any()) == nil)
    }
}
