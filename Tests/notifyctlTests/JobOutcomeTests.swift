import Subprocess
import Testing

@testable import notifyctl

@Suite struct JobOutcomeTests {
    @Test(
        arguments: [
            (.exited(0), .done), (.exited(75), .givenBack), (.exited(65), .failed(reason: "exit status 65")),
            (.exited(1), .rejected(reason: "exit status 1")), (.exited(125), .rejected(reason: "exit status 125")),
            (.exited(126), .notStarted(reason: "exit status 126")),
            (.exited(127), .notStarted(reason: "exit status 127")),
            (.exited(128), .rejected(reason: "exit status 128")), (.exited(255), .rejected(reason: "exit status 255")),
            (.signaled(9), .rejected(reason: "ended by signal 9 (SIGKILL)")),
            (.signaled(15), .rejected(reason: "ended by signal 15 (SIGTERM)")),
            (.signaled(63), .rejected(reason: "ended by signal 63 (unknown)")),
        ] as [(TerminationStatus, JobOutcome)])
    func `the termination of a command decides the answer`(_ status: TerminationStatus, _ outcome: JobOutcome) {
        #expect(JobOutcome(status) == outcome)
    }

    @Test func `a command that was ended after its time has failed, unless its status is an answer`() {
        #expect(JobOutcome(.exited(0), timedOutAfter: .seconds(30)) == .done)
        #expect(JobOutcome(.exited(75), timedOutAfter: .seconds(30)) == .givenBack)
        #expect(JobOutcome(.exited(65), timedOutAfter: .seconds(30)) == .failed(reason: "exit status 65"))
        for status in [TerminationStatus.exited(1), .exited(127), .exited(143), .signaled(15)] {
            #expect(JobOutcome(status, timedOutAfter: .seconds(30)) == .rejected(reason: "timed out after 30 s"))
        }
        #expect(
            JobOutcome(.signaled(9), timedOutAfter: .milliseconds(1500)) == .rejected(reason: "timed out after 1.5 s"))
    }
}
