import Glibc
import NotifyWire
import SystemPackage
import TestSupport
import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct DoctorTests {
    @Test func `only an older version of the daemon is a problem`() {
        #expect(Doctor.findings(daemonVersion: NotificationClient.version).isEmpty)
        #expect(Doctor.findings(daemonVersion: "1000.0.0").isEmpty)
        let findings = Doctor.findings(daemonVersion: "0.0.9")
        #expect(findings.count == 1)
        #expect(findings.first?.problem.contains("version 0.0.9, older than") == true)
    }

    @Test func `failing storage and damage are problems`() {
        func problems(_ storageWorks: Bool, _ damagedMessages: UInt64, _ damage: String?) -> [String] {
            Doctor.findings(storageWorks: storageWorks, damagedMessages: damagedMessages, damage: damage)
                .map(\.problem)
        }
        #expect(problems(true, 0, nil).isEmpty)
        #expect(problems(false, 0, nil) == ["the daemon can't store messages"])
        #expect(
            problems(false, 0, "a name is damaged")
                == ["the log is damaged, and the daemon refuses to store: a name is damaged"])
        let refusal = Doctor.findings(
            storageWorks: false, damagedMessages: 0, damage: nil, storageProblem: "the disk is full: make room",
            configurationProblem: "/f:1: unknown key")
        #expect(
            refusal.map(\.text) == [
                "problem: posts to be stored are refused: the disk is full: make room\n",
                "problem: the last reload has failed, and the previous configuration is in effect: /f:1: unknown key\n"
                    + "  repair: correct it, then run notifyctl reload\n",
            ])
        #expect(
            problems(true, 3, nil) == ["3 messages in the log are known to be damaged, and are not delivered"])
    }

    @Test func `a user near a storage limit is a problem`() {
        func texts(_ name: String, _ used: UInt64, _ limit: UInt64?) -> [String] {
            Doctor.findings(uses: [.init(name: name, used: used, limit: limit)]).map(\.text)
        }
        #expect(texts("user.54321.stored_bytes", 94 << 20, 100 << 20).isEmpty)
        #expect(texts("user.54321.stored_bytes", 1 << 40, nil).isEmpty)
        #expect(texts("user.54321.outbox_bytes", 100, 100).isEmpty && texts("log_used_bytes", 100, 100).isEmpty)
        #expect(
            texts("user.54321.stored_bytes", 95 << 20, 100 << 20) == [
                "problem: user 54321 has 95MiB of at most 100MiB of stored messages (limits.per_user.stored_bytes)\n"
                    + "  repair: start the subscribers that are behind; messages that are read are deleted after "
                    + "history_age (log.retention). Root can delete some with notifyctl purge, or raise the limit\n"
            ])
        #expect(texts("user.54321.failed_bytes", 2 << 20, 1 << 20).first?.contains("notifyctl dead retry") == true)
        #expect(
            texts("user.54321.durable_subscriptions", 10, 10).first?.contains(
                "has 10 of at most 10 durable subscriptions (limits.per_user.durable_subscriptions), and gets no more")
                == true)
    }

    @Test func `durable subscriptions with 100,000 messages that are not acknowledged are a problem`() {
        func findings(_ behind: UInt64...) -> [Finding] {
            Doctor.findings(lags: behind.map { Doctor.Lag(name: "s\($0)", uid: 54_321, behind: $0) })
        }
        #expect(findings(0, 99_999).isEmpty)
        #expect(
            findings(99_999, 100_000, 300_000).map(\.problem) == [
                "durable subscriptions have not acknowledged 100000 or more messages: "
                    + "s300000 of user 54321 (300000), s100000 of user 54321 (100000)"
            ])
        func lag(isUpperBound: Bool) -> Doctor.Lag? {
            Doctor.Lag(
                Administration.DurableSubscription(
                    DurableEntry(
                        request: 1, uid: 7,
                        pending: .init(
                            messages: 200_000, bytes: 1, oldestMicroseconds: 1, isUpperBound: isUpperBound),
                        durableName: "s", object: "shop-1", patterns: ["orders.>"])))
        }
        #expect(lag(isUpperBound: false)?.behind == 200_000)
        #expect(lag(isUpperBound: true)?.behind == nil, "the messages may have another object")
        let many = findings(100_001, 100_002, 100_003, 100_004, 100_005, 100_006, 100_007)
        #expect(many.first?.problem.hasSuffix("s100003 of user 54321 (100003), 2 more") == true)
    }

    @Test(arguments: [ELOOP, ENOTDIR, EPROTOTYPE, EMFILE])
    func `a connection that failed for another reason is not reported as a missing daemon`(code: Int32) {
        let error = NotifyError(.noDaemon, "can't connect to /n.sock: why", cause: Errno(rawValue: code))
        let finding = Doctor.connectFinding(error)
        #expect(finding?.problem == "can't connect to /n.sock: why")
        #expect(finding?.repair == (code == EMFILE ? nil : "give the daemon's socket with --socket"))
    }

    @Test func `a missing daemon has no finding about a failed connection`() {
        for code in [ENOENT, ECONNREFUSED] {
            let error = NotifyError(.noDaemon, "notifyd does not listen", cause: Errno(rawValue: code))
            #expect(Doctor.connectFinding(error) == nil)
        }
        #expect(Doctor.connectFinding(NotifyError(.noDaemon, "no")) == nil)
    }

    @Test func `the repair for a process that may be another program has commands to find it`() {
        #expect(
            Doctor.listenerRepair("/n.sock", unit: nil, sudo: "sudo ")
                == "find the process with 'sudo ss -xlp src /n.sock' or 'sudo lsof /n.sock'; restart it if it is "
                + "notifyd, and end it if it is not")
        #expect(
            Doctor.listenerRepair("/n.sock", unit: "systemctl restart notifyd", sudo: "")
                == "restart notifyd: systemctl restart notifyd")
    }

    @Test func `a directory that a user may not search is named with its owner`() {
        func refusal(owner: UInt32, mode: UInt32) -> String {
            var status = stat()
            (status.st_uid, status.st_mode) = (owner, S_IFDIR | mode)
            return SocketFile.refusal(byDirectory: "/srv", status, of: "/srv/a/n.sock", to: 54_321).text
        }
        #expect(
            refusal(owner: 7, mode: 0o700)
                == "problem: the directory /srv of the socket /srv/a/n.sock belongs to uid 7 and has the mode 0700: "
                + "uid 54321 may not search it\n"
                + "  repair: run notifyctl as uid 7, or have that user run chmod a+x '/srv'\n")
        #expect(refusal(owner: 54_321, mode: 0o600).hasSuffix("  repair: run chmod u+x '/srv'\n"))
    }

    @Test func `the outermost of several closed directories is found`() {
        func outermost(_ path: String, _ closed: String...) -> String? {
            SocketFile.outermostDirectory(above: path) { closed.contains($0) }
        }
        #expect(outermost("/a/b/c/n.sock", "/a/b", "/a/b/c") == "/a/b")
        #expect(outermost("/n.sock", "/") == "/")
        #expect(outermost("n.sock", ".") == ".")
        #expect(outermost("a/n.sock", "a") == "a")
        #expect(outermost("/a/n.sock", "/b") == nil)
    }

    @Test func `the holder of a lock is read only from a file of this user or of root`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("1234\n", to: "socket.lock")
        let holder = { SocketLock.holder(ofSocket: folder.file("socket")) }
        #expect(holder() == nil)
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        try #require(flock(descriptor, LOCK_EX) == 0)
        #expect(holder() == 1234)
        try #require(link(path, folder.file("other")) == 0)
        #expect(holder() == nil)
        try #require(unlink(folder.file("other")) == 0)
        #expect(holder() == 1234)
        guard getuid() == 0 else { return }
        try #require(chown(path, 12345, 0) == 0)
        #expect(holder() == nil)
    }
}
