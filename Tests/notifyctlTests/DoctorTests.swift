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
}
