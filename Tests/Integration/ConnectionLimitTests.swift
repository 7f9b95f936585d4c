import Foundation
import NotifySystem
import NotifyWire
import SystemPackage
import Testing
import WireTestSupport

extension IntegrationTests {
    /// Connections that only occupy resources.
    @Suite struct ConnectionLimitTests {
        @Test func `a warning about a user near a limit reaches the log and subscribers`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_LIMITS_PER_USER_CONNECTIONS": "5"])
            let watcher = try RawClient(daemon)
            try watcher.subscribe("notifyd.limits.>", as: 1)
            let others = try (0..<3).map { _ in try RawClient(daemon) }
            let warning = try watcher.message()
            #expect(warning.name == "notifyd.limits.connections" && warning.object == "\(getuid())")
            #expect(warning.text == #"{"resource":"connections","used":4,"limit":5,"uid":\#(getuid())}"#)
            _ = try await daemon.process.standardError.wait("a line in the log", within: .seconds(60)) { log in
                log.text.contains("uses 4 of 5 connections") ? true : nil
            }
            for client in others { try client.ping() }
        }

        @Test func `unread output of an ended connection is charged until its client closes it`() async throws {
            let daemon = try await Daemon.start()
            let bystander = try Bystander(daemon)
            var ended: RawClient? = try RawClient(daemon)
            try ended?.subscribe("a")
            let poster = try RawClient(daemon)
            for _ in 0..<10 { try poster.post("a", String(repeating: "x", count: 10_000)) }
            // A second greeting is an error, so the daemon ends the connection.
            try ended?.send(Hello(instance: .random()).encoded, readingMeanwhile: false)
            try bystander.waitForOtherConnections(1)
            #expect(try bystander.statistics()["socket_bytes"] ?? 0 >= 100_000)
            let use = try await Notifyctl(daemon).run("stats", "--limits")
            expectText(use.output, "user.\(getuid()).connections 5 of")
            expectText(use.output, "user.\(getuid()).socket_bytes ")
            ended = nil
            while try bystander.statistics()["socket_bytes"] != 0 { try poster.ping() }
        }

        @Test func `a slow greeting does not extend the greeting timeout`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_TIMEOUTS_GREETING_SECONDS": "3"])
            let bystander = try Bystander(daemon)
            let silent = RawClient(try RawSocket(path: daemon.socket))
            let dripping = RawClient(try RawSocket(path: daemon.socket))
            for byte in Hello(instance: .random()).encoded.dropLast(16) {
                // On a slow machine the timeout may elapse before the last byte.
                guard (try? dripping.send([byte])) != nil else { break }
                try bystander.expectUndisturbed()
            }
            for client in [silent, dripping] {
                guard case .error(let error) = try client.waitForEnd().first else {
                    Issue.record("the connection was closed without an error")
                    continue
                }
                #expect(ErrorCode(rawValue: error.code) == .greetingTimeout)
                #expect(error.isFatal)
            }
            try bystander.waitForOtherConnections(0)
            // A connection that has greeted may stay silent without a limit.
            try bystander.expectUndisturbed()
        }

        @Test func `four thousand idle connections do not disturb other clients`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_LIMITS_PER_USER_CONNECTIONS": "4096"])
            let bystander = try Bystander(daemon)
            let before = try daemon.descriptorCount
            try #require(raiseDescriptorLimit(to: 5000))
            // With the bystander's two connections, the user reaches the limit.
            var idle: [RawClient] = []
            for _ in 0..<4094 { idle.append(try RawClient(daemon)) }
            try bystander.expectUndisturbed()
            #expect(try bystander.statistics()["connections"] == 4096)

            let refused = RawClient(try RawSocket(path: daemon.socket))
            guard case .error(let error) = try refused.waitForEnd().first else {
                Issue.record("a connection above the limit was accepted")
                return
            }
            #expect(ErrorCode(rawValue: error.code) == .limitReached)
            try bystander.expectUndisturbed()
            try idle[4093].ping()

            idle = []
            try bystander.waitForOtherConnections(0)
            try RawClient(daemon).ping()
            try bystander.waitForOtherConnections(0)
            #expect(try daemon.descriptorCount == before)
        }

        @Test func `while many connections end together, others are served`() async throws {
            let daemon = try await Daemon.start()
            try #require(raiseDescriptorLimit(to: 5000))
            let other = try RawClient(daemon)
            var ending = try (0..<4000).map { _ in try RawClient(daemon) }
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            ending = []
            // The event loop receives events in order: first the ends of the connections, then this request.
            let request = other.newRequest()
            try other.send(StatisticsRequest(request: request))
            daemon.process.send(SIGCONT)
            let report = try other.wait("statistics") { if case .statistics(let report) = $0 { report } else { nil } }
            let connections = try #require(report.counters.first { $0.name == "connections" })
            #expect((1000..<4000).contains(connections.value), "it is answered before the others have ended")
            for _ in 0..<10 { try other.ping() }
            #expect(ending.isEmpty)
        }

        @Test func `descriptors sent with a frame are not received`() async throws {
            let daemon = try await Daemon.start()
            let bystander = try Bystander(daemon)
            let client = try RawClient(daemon)
            let before = try daemon.descriptorCount
            for _ in 0..<50 {
                let ping = try client.pingWithDescriptors([0, 0, 0])
                _ = try client.wait("a pong") { if case .pong(let pong) = $0 { pong.request == ping } else { nil } }
            }
            #expect(try daemon.descriptorCount == before)
            try bystander.expectUndisturbed()
        }

        @Test func `partial frames are charged to their user`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_LIMITS_PER_USER_RECEIVED_BYTES": "4000000"])
            let bystander = try Bystander(daemon)
            let payload = [UInt8](repeating: 7, count: 1_000_000)
            let most = postFrame(1, name: Array("never".utf8), payload: payload).dropLast(10)
            var clients: [RawClient] = []
            for _ in 0..<5 {
                let client = try RawClient(daemon)
                try client.send(Array(most))
                clients.append(client)
                // After round trips on other connections, the daemon has read the partial frame, because it reads
                // sockets in turn.
                try bystander.expectUndisturbed()
            }
            guard case .error(let error) = try clients[4].waitForEnd().first else {
                Issue.record("the last connection was not closed")
                return
            }
            #expect(ErrorCode(rawValue: error.code) == .limitReached)
            try clients[0].send([UInt8](repeating: 7, count: 10))
            #expect(try clients[0].receipt(of: 1).durability == .volatile)
        }

        @Test func `connections wait while descriptors are exhausted, without effect on other clients`() async throws {
            let daemon = try await Daemon.start()
            let bystander = try Bystander(daemon)
            try await Self.limitDescriptors(of: daemon, to: daemon.descriptorCount + 8)
            var idle = try (0..<40).map { _ in try RawSocket(path: daemon.socket) }
            _ = try await daemon.process.standardError.wait("a warning") {
                $0.text.contains("cannot accept connections") ? $0 : nil
            }
            try bystander.expectUndisturbed()

            let before = try daemon.processorTicks
            let late = try RawSocket(path: daemon.socket)
            #expect(throws: TimedOut.self) {
                try late.wait(for: Int32(POLLIN), until: .now + .seconds(1)) { "no connection is accepted" }
            }
            #expect(try daemon.processorTicks - before < sysconf(Int32(_SC_CLK_TCK)) / 2)

            idle = []
            try RawClient(late).greet()
            try bystander.waitForOtherConnections(1)
            #expect(idle.isEmpty)
        }

        private static func limitDescriptors(of daemon: Daemon, to count: Int) async throws {
            let limit = try ChildProcess("prlimit", ["--pid", "\(daemon.process.pid)", "--nofile=\(count)"])
            #expect(try await limit.waitForExit() == .status(0))
        }

        private func raiseDescriptorLimit(to wanted: UInt) -> Bool {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            if limit.rlim_cur >= wanted { return true }
            limit.rlim_cur = min(wanted, limit.rlim_max)
            return setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 && limit.rlim_cur >= wanted
        }
    }
}

extension RawClient {
    /// Sends a ping together with file descriptors.
    ///
    /// - Returns: The request number of the ping.
    fileprivate func pingWithDescriptors(_ descriptors: [Int32]) throws -> UInt64 {
        let request = newRequest()
        var frame = Ping(request: request).encoded
        var control = [UInt8](repeating: 0, count: MemoryLayout<cmsghdr>.size + descriptors.count * 4)
        let sent = control.withUnsafeMutableBytes { control in
            var header = cmsghdr()
            header.cmsg_len = control.count
            header.cmsg_level = SOL_SOCKET
            header.cmsg_type = Int32(SCM_RIGHTS)
            control.storeBytes(of: header, as: cmsghdr.self)
            for (index, descriptor) in descriptors.enumerated() {
                control.storeBytes(
                    of: descriptor, toByteOffset: MemoryLayout<cmsghdr>.size + index * 4, as: Int32.self)
            }
            return frame.withUnsafeMutableBytes { bytes in
                var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    return sendmsg(socket.descriptor, &message, 0)
                }
            }
        }
        guard sent == frame.count else { throw Errno.last }
        return request
    }
}
