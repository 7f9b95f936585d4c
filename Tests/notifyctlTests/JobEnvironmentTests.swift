import Testing

@testable import notifyctl

@Suite struct JobEnvironmentTests {
    @Test(arguments: [
        ("k", "NOTIFY_HEADER_K"), ("content-type", "NOTIFY_HEADER_CONTENT_TYPE"), ("A1_b", "NOTIFY_HEADER_A1_B"),
        ("a=b", "NOTIFY_HEADER_A_B"), ("é", "NOTIFY_HEADER___"), (" ", "NOTIFY_HEADER__"),
    ])
    func `the variable of a header has letters, digits and underscores only`(_ key: String, _ name: String) {
        #expect(JobEnvironment.name(ofHeader: key) == name)
    }

    @Test func `of headers with the same variable the last counts, and headers with a NUL are left out`() {
        let headers = [("a.b", "1"), ("A-B", "2"), ("a_b", "3\u{0}"), ("nul", "\u{0}"), ("empty", "")]
        #expect(
            JobEnvironment.variables(ofHeaders: headers) == ["NOTIFY_HEADER_A_B": "2", "NOTIFY_HEADER_EMPTY": ""])
    }

    @Test func `a header can't replace a variable of the message`() {
        let names = JobEnvironment.variables(ofHeaders: [("NOTIFY_NAME", "x"), ("NAME", "y")]).keys
        #expect(Set(names) == ["NOTIFY_HEADER_NOTIFY_NAME", "NOTIFY_HEADER_NAME"])
    }

    @Test func `the environment is inherited as bytes, without the variables of another message`() {
        let environment =
            [Array("A=1".utf8), [66, 61, 0xFF, 0xC0], Array("PATH=/bin".utf8), Array("EMPTY=".utf8)]
            + ["NOTIFY_NAME=n", "NOTIFY_OBJECT=o", "NOTIFY_HEADER_X=x", "LIBDISPATCH_LOG=NO"].map { Array($0.utf8) }
            + [Array("NOTIFYD_SOCKET=/s".utf8), Array("A=2".utf8)]
        let expected =
            [Array("A=1".utf8), [66, 61, 0xFF, 0xC0], Array("PATH=/bin".utf8), Array("EMPTY=".utf8)]
            + [Array("NOTIFYD_SOCKET=/s".utf8), Array("A=2".utf8)]
        #expect(JobEnvironment.entries(inheritedFrom: environment) == expected.map { $0 + [0] })
    }

    @Test func `entries that are no variables are inherited, too`() {
        let environment = ["", "A", "1=a", "=c"].map { Array($0.utf8) }
        #expect(JobEnvironment.entries(inheritedFrom: environment) == environment.map { $0 + [0] })
    }
}
