import Glibc
import TestSupport
import Testing

@testable import notifyctl

@Suite struct JobOutcomeTests {
    @Test(
        arguments: [
            (.exited(0), .done), (.exited(75), .givenBack), (.exited(65), .deadLetter(reason: "exit status 65")),
            (.exited(1), .failed(reason: "exit status 1")), (.exited(125), .failed(reason: "exit status 125")),
            (.exited(126), .notStarted(reason: "exit status 126")),
            (.exited(127), .notStarted(reason: "exit status 127")),
            (.exited(128), .failed(reason: "exit status 128")), (.exited(255), .failed(reason: "exit status 255")),
            (.signaled(9), .failed(reason: "ended by signal 9 (SIGKILL)")),
            (.signaled(15), .stopped(reason: "ended by signal 15 (SIGTERM)")),
            (.signaled(2), .stopped(reason: "ended by signal 2 (SIGINT)")),
            (.signaled(1), .stopped(reason: "ended by signal 1 (SIGHUP)")),
            (.exited(143), .stopped(reason: "exit status 143")), (.exited(130), .stopped(reason: "exit status 130")),
            (.exited(129), .stopped(reason: "exit status 129")), (.exited(137), .failed(reason: "exit status 137")),
            (.signaled(63), .failed(reason: "ended by signal 63 (unknown)")),
            (.unknown, .failed(reason: "its exit status is unknown")),
        ] as [(ProgramProcess.Termination, JobOutcome)])
    func `the termination of a command decides the answer`(_ end: ProgramProcess.Termination, _ outcome: JobOutcome) {
        #expect(JobOutcome(end) == outcome)
    }

    @Test func `the end of a command's standard error follows the reason of a failure`() {
        #expect(JobOutcome(.exited(1)).adding(errors: "a\nb") == .failed(reason: "exit status 1\na\nb"))
        #expect(JobOutcome(.exited(65)).adding(errors: "a") == .deadLetter(reason: "exit status 65\na"))
        #expect(JobOutcome(.exited(143)).adding(errors: "a") == .stopped(reason: "exit status 143\na"))
        #expect(JobOutcome(.exited(1)).adding(errors: "") == .failed(reason: "exit status 1"))
        for status in [0, 75] as [Int32] {
            #expect(JobOutcome(.exited(status)).adding(errors: "a") == JobOutcome(.exited(status)))
        }
    }

    @Test func `a command that was ended after its timeout has failed, unless its exit status is an answer`() {
        #expect(JobOutcome(.exited(0), timedOutAfter: .seconds(30)) == .done)
        #expect(JobOutcome(.exited(75), timedOutAfter: .seconds(30)) == .givenBack)
        #expect(JobOutcome(.exited(65), timedOutAfter: .seconds(30)) == .deadLetter(reason: "exit status 65"))
        for end in [ProgramProcess.Termination.exited(1), .exited(127), .exited(143), .signaled(15)] {
            #expect(JobOutcome(end, timedOutAfter: .seconds(30)) == .failed(reason: "timed out after 30 s"))
        }
        #expect(
            JobOutcome(.signaled(9), timedOutAfter: .milliseconds(1500)) == .failed(reason: "timed out after 1.5 s"))
    }

    @Test(
        arguments: [
            (.zero, "0 s"), (.seconds(30), "30 s"), (.milliseconds(1500), "1.5 s"), (.milliseconds(10), "0.01 s"),
            (.microseconds(10), "0.00001 s"), (.nanoseconds(1), "0.000000001 s"),
            (.nanoseconds(90_000_000_001), "90.000000001 s"), (.seconds(86_400_000), "86400000 s"),
        ] as [(Duration, String)])
    func `a time is written in seconds without an exponent`(span: Duration, text: String) {
        #expect(JobOutcome.text(span) == text)
    }

    @Test func `a command that was stopped has failed if notifyctl is not stopped within a second`() async {
        let (interruption, clock) = (Interruption(), ManualClock())
        let outcome = JobOutcome(.signaled(SIGTERM))
        async let settled = outcome.settled(by: interruption, clock: clock)
        await clock.waitForSleeper(until: .seconds(1))
        clock.advance(to: .seconds(1))
        #expect(await settled == .failed(reason: "ended by signal 15 (SIGTERM)"))
    }

    @Test func `a command that was stopped with notifyctl has not failed, whichever is stopped first`() async {
        let (interruption, clock) = (Interruption(), ManualClock())
        let outcome = JobOutcome(.exited(143))
        async let settled = outcome.settled(by: interruption, clock: clock)
        await clock.waitForSleeper(until: .seconds(1))
        clock.advance(to: .milliseconds(999))
        interruption.interrupt(.signal)
        #expect(await settled == outcome)
        #expect(await outcome.settled(by: interruption, clock: clock) == outcome)
    }

    @Test func `only the outcome of a stopped command depends on a stop of notifyctl`() async {
        for outcome in [JobOutcome.done, .givenBack, .failed(reason: "r"), .deadLetter(reason: "r")] {
            #expect(await outcome.settled(by: Interruption(), clock: ManualClock()) == outcome)
        }
    }
}
