import NotifyClient
import Testing

@testable import notifyctl

@Suite struct DoctorTests {
    @Test func `only an older daemon is a problem`() {
        #expect(Doctor.findings(daemonVersion: NotifyClient.version).isEmpty)
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
        #expect(
            problems(true, 3, nil) == ["3 messages in the log are known to be damaged, and are not delivered"])
    }

    @Test func `durable subscriptions that are 100,000 sequences behind are a problem`() {
        func findings(_ behind: UInt64...) -> [Finding] {
            Doctor.findings(lags: behind.map { Doctor.Lag(name: "s\($0)", uid: 7, behind: $0) })
        }
        #expect(findings(0, 99_999).isEmpty)
        #expect(
            findings(99_999, 100_000, 300_000).map(\.problem) == [
                "durable subscriptions are 100000 or more sequences behind the end of the log: "
                    + "s300000 of uid 7 (300000), s100000 of uid 7 (100000)"
            ])
        let many = findings(100_001, 100_002, 100_003, 100_004, 100_005, 100_006, 100_007)
        #expect(many.first?.problem.hasSuffix("s100003 of uid 7 (100003), 2 more") == true)
    }
}
