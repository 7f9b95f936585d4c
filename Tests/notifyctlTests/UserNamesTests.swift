import ArgumentParser
import Glibc
import Testing

@testable import notifyctl

@Suite struct UserNamesTests {
    private func refusal(_ name: String) -> String? {
        do {
            try UserNames.check(["a", name])
            return nil
        } catch {
            return (error as? ValidationError)?.message
        }
    }

    @Test(arguments: [
        "user.0.x", "user.4294967295", "user.*.x", "user.>", "user", "users.root.x", "a.user.root", "user.",
    ])
    func `names with a uid and other names are accepted`(name: String) {
        #expect(refusal(name) == nil)
    }

    @Test func `the name of a user is refused with the uid to write`() {
        #expect(refusal("user.root.mail.in")?.hasSuffix("write user.0.mail.in") == true)
        #expect(refusal("user.root")?.hasSuffix("write user.0") == true)
        #expect(refusal("user.root.>")?.hasSuffix("write user.0.>") == true)
        #expect(refusal("user.0012.x")?.hasSuffix("write user.12.x") == true)
    }

    @Test func `the name of an unknown user is refused with an example`() throws {
        let message = try #require(refusal("user.no-such-user.x"))
        #expect(message.contains("no user has this name") && message.hasSuffix("user.\(getuid()).x"))
        #expect(refusal("user.4294967296.x") != nil)
    }

    @Test func `a user is given by name or uid`() throws {
        #expect(try UserNames.uid(argument: "root") == 0)
        #expect(try UserNames.uid(argument: "1234") == 1234)
        #expect(try UserNames.uid(argument: "4294967294") == 4_294_967_294)
    }

    @Test(arguments: ["no-such-user", "4294967295", "4294967296", "+5", "-1", "5 ", ""])
    func `an unknown user and an invalid uid are refused`(argument: String) {
        let error = #expect(throws: ValidationError.self) { try UserNames.uid(argument: argument) }
        let isNumber = !argument.isEmpty && argument.allSatisfy(\.isNumber)
        #expect(
            error?.message == (isNumber ? "expected a uid up to 4294967294" : "this machine has no user of this name"))
    }

    @Test(arguments: ["010", "00", "01234", "04294967296"])
    func `a uid with a superfluous 0 is refused`(argument: String) {
        let error = #expect(throws: ValidationError.self) { try UserNames.uid(argument: argument) }
        #expect(error?.message == "expected a uid without a superfluous 0, such as 10")
        #expect(throws: Never.self) { try UserNames.uid(argument: "0") }
    }
}
