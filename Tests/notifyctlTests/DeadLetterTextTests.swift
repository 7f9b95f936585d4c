import ArgumentParser
import FoundationEssentials
import Testing

@testable import notifyctl

/// The texts of `notifyctl dead`.
@Suite struct DeadLetterTextTests {
    private let row = DeadLetterRow(
        sequence: 12, durable: "billing", date: Date(timeIntervalSince1970: 60), deliveries: 5,
        reason: "exit status 1\u{1B}", name: "orders.created", object: nil, originalSequence: 7,
        originalDate: Date(timeIntervalSince1970: 0), uid: 0, pid: 42)

    @Test func `the list shows why a message failed, without control characters`() {
        #expect(
            DeadLetterRow.table([row], .utc).lines() == [
                "SEQUENCE  DURABLE  TIME                      NAME            REASON          DELIVERIES  OBJECT",
                "      12  billing  1970-01-01T00:01:00.000Z  orders.created  exit status 1\u{FFFD}           5  -",
            ])
    }

    @Test func `a dead letter is shown with its original message`() {
        #expect(
            row.text(.exact) == """
                sequence    12
                durable     billing
                time        1970-01-01T00:01:00.000000Z
                deliveries  5
                reason      exit status 1\u{FFFD}
                name        orders.created
                object      -
                posted      1970-01-01T00:00:00.000000Z
                posted as   7
                posted by   process 42 of root

                """)
    }

    @Test func `a list has the first and last line of a reason, and the details have all lines`() {
        var row = row
        row.reason = "exit status 3\nreading\tit\n\nno\u{1B}disk"
        #expect(DeadLetterRow.table([row], .utc).lines()[1].contains("  exit status 3: no\u{FFFD}disk  "))
        #expect(
            row.text(.exact).contains(
                "reason      exit status 3\n            reading\u{FFFD}it\n            \n            no\u{FFFD}disk\nname"
            ))
        #expect(FailureReason.line(String(repeating: "é", count: 200)) == String(repeating: "é", count: 99) + "…")
        #expect(FailureReason.line("\n") == "?")
    }

    @Test func `the JSON of a dead letter has null for unknown values`() {
        var row = row
        row.reason = nil
        var json = JSONWriter()
        json.object { row.write(to: &$0) }
        #expect(
            String(decoding: json.bytes, as: UTF8.self) == """
                {"sequence":12,"durable":"billing","time":"1970-01-01T00:01:00.000000Z","deliveries":5,"reason":null,\
                "name":"orders.created","object":null,"original_sequence":7,\
                "original_time":"1970-01-01T00:00:00.000000Z","uid":0,"pid":42}
                """)
    }

    @Test func `dead letters that were not processed are reported with the reason`() throws {
        let note = ": --id takes the sequences that 'notifyctl dead list' shows, not those of the messages"
        #expect(DeadLetterText.failure(messages: 3, kept: 0, of: nil) == nil)
        #expect(DeadLetterText.failure(messages: 2, kept: 0, of: 2) == nil)
        #expect(DeadLetterText.failure(messages: 1, kept: 0, of: 2) == "1 dead letter not found" + note)
        let failure = try #require(DeadLetterText.failure(messages: 1, kept: 1, of: 4))
        #expect(failure.hasPrefix("1 dead letter kept: the durable subscription does not exist"))
        #expect(failure.hasSuffix("; 2 dead letters not found" + note))
    }

    @Test func `each given sequence is selected once, in ascending order`() throws {
        #expect(try DeadLetterOptions.parse(["billing"]).selected == nil)
        #expect(try DeadLetterOptions.parse(["--id", "3", "1", "--id", "3"]).selected == [1, 3])
    }

    private func purge(_ arguments: String...) throws -> DeadPurgeCommand {
        try #require(try Notifyctl.parseAsRoot(["dead", "purge", "--yes"] + arguments) as? DeadPurgeCommand)
    }

    @Test func `the question before a purge names another user`() throws {
        let question = DeadPurgeCommand.question
        #expect(try question(purge().letters) == "Delete all your dead letters?")
        #expect(try question(purge("d").letters) == "Delete the dead letters of 'd'?")
        #expect(try question(purge("--user", "0").letters) == "Delete all dead letters of user root?")
        #expect(
            try question(purge("d", "--user", "54321").letters) == "Delete the dead letters of 'd' of user 54321?")
    }

    @Test func `the notice that there are no dead letters names another user`() throws {
        #expect(try purge().letters.emptyNotice == "there are no dead letters")
        #expect(try purge("--user", "0").letters.emptyNotice == "there are no dead letters of user root")
        #expect(
            try purge("d").letters.emptyNotice
                == "there are no such dead letters: 'notifyctl dead list' lists all of yours")
        #expect(
            try purge("d", "--user", "54321").letters.emptyNotice
                == "there are no such dead letters: 'notifyctl dead list --user 54321' lists all of this user")
    }
}
