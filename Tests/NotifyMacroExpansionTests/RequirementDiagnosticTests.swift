import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// The diagnostics of requirements that can't be broadcast.
@Suite struct RequirementDiagnosticTests {
    @Test(arguments: [
        Refusal(
            member: "associatedtype A",
            "the associated type 'A' cannot be broadcast; it is a different type for each receiver",
            column: 1),
        Refusal(member: "init()", "an initializer cannot be broadcast; receivers already exist", column: 1),
        Refusal(
            member: "static func f()", "a static member cannot be broadcast; receivers are instances", column: 1,
            fix: "remove 'static'", fixed: "func f()"),
        Refusal(
            member: "@available(*, deprecated) class func f()",
            "a static member cannot be broadcast; receivers are instances", column: 27, fix: "remove 'class'",
            fixed: "@available(*, deprecated) func f()"),
        Refusal(
            member: "static var x: [Int] { get }", "a static member cannot be broadcast; receivers are instances",
            column: 1, fix: "remove 'static'"),
        Refusal(
            member: "static subscript(x: Int) -> [Int] { get }",
            "a static member cannot be broadcast; receivers are instances", column: 1, fix: "remove 'static'"),
        Refusal(
            member: "static func == (a: Int, b: Int)", "an operator cannot be broadcast; receivers are instances",
            column: 13),
        Refusal(
            member: "mutating func f()",
            "a mutating method cannot be broadcast; receivers are class instances", column: 1,
            fix: "remove 'mutating'", fixed: "func f()"),
        Refusal(
            member: "optional func f()", "'optional' requires an '@objc' protocol; use '@Optional'", column: 1,
            fix: "replace with '@Optional'",
            fixed: "@Optional func f()"),
        Refusal(
            member: "@Optional @Optional func f()", "duplicate '@Optional' attribute", column: 11,
            fix: "remove '@Optional'", fixed: "@Optional func f()"),
        Refusal(
            member: "func f(_ other: Self)", "'Self' cannot be broadcast; it is a different type for each receiver",
            column: 17, fix: "replace 'Self' with 'any P'", fixed: "func f(_ other: any P)"),
        Refusal(
            member: "func f(_ other: Self?)", "'Self' cannot be broadcast; it is a different type for each receiver",
            column: 17, fix: "replace 'Self' with '(any P)'", fixed: "func f(_ other: (any P)?)"),
        Refusal(
            member: "nonisolated func f()",
            "a nonisolated requirement can be called from any thread; the receivers must be 'Sendable'", column: 1,
            fix: "add 'Sendable'"),
        Refusal(
            member: "#if A\n    #endif", "'#if' hides requirements from '@Broadcast'; put it around the whole protocol",
            column: 1),
    ])
    func `members that can't be broadcast are diagnosed`(_ refusal: Refusal) {
        refusal.check()
    }

    @Test(arguments: [
        ("func register(_ x: Int)", "register(_:)"), ("func register(_ x: Int, for y: Int)", "register(_:for:)"),
        ("func unregister(_ x: Int)", "unregister(_:)"), ("func receivers()", "receivers()"),
        ("@Combined(.collect) var receivers: [Int] { get }", "receivers"), ("func receiverCount()", "receiverCount()"),
        ("func `self`()", "self()"), ("func `Type`()", "Type()"),
    ])
    func `names reserved for the broadcaster are diagnosed`(member: String, name: String) {
        Refusal(
            member: member, "'\(name)' is reserved for the broadcaster; rename the requirement", column: 1
        ).check()
    }

    @Test func `'dispatch' is reserved in a codable protocol only`() {
        Refusal(
            member: "func dispatch(_ x: Int)",
            "'dispatch(_:)' is reserved for the broadcaster; rename the requirement", column: 1, codable: true
        ).check()
        #expect(expansion(of: "@Broadcast protocol P: AnyObject { func dispatch(_ x: Int) }").contains("PBroadcaster"))
    }

    @Test(arguments: [
        Refusal(
            member: "func f(_ x: Int...)", "'x' is variadic and cannot be forwarded; use an array", column: 8,
            fix: "replace with an array", fixed: "func f(_ x: [Int])"),
        Refusal(
            member: "func f(_ x: consuming A)", "'x' is 'consuming' and cannot be passed to several receivers",
            column: 13,
            fix: "remove 'consuming'", fixed: "func f(_ x: A)"),
        Refusal(
            member: "func f(_ x: sending A)", "'x' is 'sending' and cannot be passed to several receivers", column: 13,
            fix: "remove 'sending'", fixed: "func f(_ x: A)"),
        Refusal(
            member: "func f() throws(E)", "a typed 'throws' cannot combine the errors of several receivers", column: 10,
            fix: "replace with 'throws'", fixed: "func f() throws"),
        Refusal(
            member: "func f(_ g: () throws -> Void) rethrows",
            "'rethrows' cannot combine the errors of several receivers", column: 32,
            fix: "replace 'rethrows' with 'throws'", fixed: "func f(_ g: () throws -> Void) throws"),
    ])
    func `unsupported parameters and effects are diagnosed`(_ refusal: Refusal) {
        refusal.check()
    }

    @Test(arguments: [
        Refusal(
            member: "func f() -> [Int]", "a result requires '@Combined' to combine the results of several receivers",
            column: 13,
            fix: "add '@Combined(.collect)'", fixed: "@Combined(.collect) func f() -> [Int]"),
        Refusal(
            member: "var x: Int? { get }", "a result requires '@Combined' to combine the results of several receivers",
            column: 8,
            fix: "add '@Combined(.first)'", fixed: "@Combined(.first) var x: Int? { get }"),
        Refusal(
            member: "subscript(i: Int) -> [Int] { get }",
            "a result requires '@Combined' to combine the results of several receivers",
            column: 22, fix: "add '@Combined(.collect)'",
            fixed: "@Combined(.collect) subscript(i: Int) -> [Int] { get }"),
        Refusal(
            member: "@Combined(.first) func f()", "'@Combined' requires a result", column: 1,
            fix: "remove '@Combined'", fixed: "func f()"),
        Refusal(
            member: "@Combined(rule) func f() -> Int",
            "'@Combined' requires a literal '.collect', '.first', '.first(or:)' or '.reduce(_:_:)'", column: 1),
        Refusal(
            member: "@Combined(.collect) func f() -> Int", "'.collect' requires an array, not 'Int'", column: 11),
        Refusal(
            member: "@Combined(.collect) func f() -> [Int: Int]", "'.collect' requires an array, not '[Int: Int]'",
            column: 11),
        Refusal(
            member: "@Combined(.collect) func f() -> Set<Int>", "'.collect' requires an array, not 'Set<Int>'",
            column: 11),
        Refusal(
            member: "@Combined(.collect) func f() -> [Int]?", "'.collect' requires an array, not '[Int]?'",
            column: 11
        ),
        Refusal(
            member: "@Combined(.collect) @Combined(.first) func f() -> [Int]",
            "duplicate '@Combined' attribute", column: 21, fix: "remove '@Combined'",
            fixed: "@Combined(.collect) func f() -> [Int]"),
        Refusal(
            member: "@Combined(.first) func f() -> Int", "'.first' requires an optional, not 'Int'",
            column: 11, fix: "use '.first(or:)'",
            fixed: "@Combined(.first(or: <#result without receivers#>)) func f() -> Int"),
        Refusal(
            member: "@Optional @Combined(.first(or: 1)) func f() -> Int",
            "with '.first(or:)' the default of '@Optional' would count as a result; write the default in an extension",
            column: 1,
            fix: "remove '@Optional'", fixed: "@Combined(.first(or: 1)) func f() -> Int"),
    ])
    func `results without a valid combination rule are diagnosed`(_ refusal: Refusal) {
        refusal.check()
    }

    @Test func `the diagnostic of an uncombined result offers two fix-its`() {
        let answer = "add '@Combined(.first(or: <#result without receivers#>))'"
        let reduction = "add '@Combined(.reduce(<#initial result#>) { <#$0 and $1#> })'"
        expect(
            "@Broadcast protocol P: AnyObject {\n    func f() -> Int\n}",
            expandsTo: "protocol P: AnyObject {\n    func f() -> Int\n}",
            diagnostics: [
                DiagnosticSpec(
                    message: "a result requires '@Combined' to combine the results of several receivers", line: 2,
                    column: 17,
                    fixIts: [FixItSpec(message: answer), FixItSpec(message: reduction)])
            ],
            fixed: """
                @Broadcast protocol P: AnyObject {
                    @Combined(.first(or: <#result without receivers#>)) func f() -> Int
                }
                """,
            applying: [answer])
    }

    // MARK: Encoded calls

    @Test(arguments: [
        ("func f() -> Int", "a result", 13), ("func f(_ x: inout Int)", "an 'inout' parameter", 13),
        ("func f(_ x: () -> Void)", "a closure", 13), ("func f<T>(_ x: T)", "a generic call", 7),
        ("func f(_ x: some Codable)", "a generic call", 13), ("func f(_ x: [any A])", "a value of any type", 14),
        ("func f(_ x: (Int, Int))", "a tuple", 13), ("func f(_ x: Int.Type)", "a type", 13),
        ("func f(_ x: Any)", "a value of any type", 13), ("func f(_ x: AnyObject?)", "a value of any type", 13),
        ("@available(*, deprecated) func f()", "a call with its own '@available'", 1),
        ("var x: Int { get }", "a property", 1), ("subscript(i: Int) -> Int { get }", "a subscript", 1),
    ])
    func `requirements that can't be encoded are diagnosed`(member: String, what: String, column: Int) {
        Refusal(
            member: member, "\(what) cannot be encoded; remove it from the '@Broadcast(codable)' protocol",
            column: column,
            codable: true
        ).check()
    }

    @Test(arguments: ["@Topic(\"\")", "@Topic(name)", "@Topic(\"a\\(1)\")"])
    func `invalid topics are diagnosed`(topic: String) {
        let message = "a topic must be a non-empty string literal without interpolation"
        expect(
            "@Broadcast(codable) protocol P: AnyObject {\n    \(topic) func f()\n}",
            expandsTo: "protocol P: AnyObject {\n    func f()\n}",
            diagnostics: [DiagnosticSpec(message: message, line: 2, column: 5)])
    }

    @Test func `two calls with the same name are diagnosed`() {
        let message = "duplicate topic 'a'; name one of the calls with '@Topic'"
        expect(
            """
            @Broadcast(codable) protocol P: AnyObject {
                @Topic("a") func f()
                @Topic("a") func g()
            }
            """,
            expandsTo: "protocol P: AnyObject {\n    func f()\n    func g()\n}",
            diagnostics: [
                DiagnosticSpec(
                    message: message, line: 3, column: 5,
                    notes: [NoteSpec(message: "the other call is here", line: 2, column: 5)])
            ])
    }
}
