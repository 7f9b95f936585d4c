import Testing

/// The expansion of each kind of requirement.
@Suite struct RequirementExpansionTests {
    /// Checks that the broadcaster contains the lines of a member, indented by four spaces.
    private func expect(
        _ requirement: String, becomes member: String, at location: Testing.SourceLocation = #_sourceLocation
    ) {
        let expanded = expansion(of: "@Broadcast protocol P: AnyObject {\n    \(requirement)\n}")
        let lines = member.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
        #expect(expanded.contains("\n\(lines)\n"), "\(expanded)", sourceLocation: location)
    }

    /// Returns a method or accessor whose body is a loop over the receivers.
    private func loop(_ head: String, _ body: String, of name: String = "f") -> String {
        "\(head) {\n    for receiver in receivers[PMethods.\(name)] {\n        \(body)\n    }\n}"
    }

    @Test func `methods become loops over the receivers`() {
        expect("func f()", becomes: loop("func f()", "receiver.f()"))
        expect("func f() -> Void", becomes: loop("func f()", "receiver.f()"))
        expect("func f() async", becomes: loop("func f() async", "await receiver.f()"))
        expect("@MainActor func f()", becomes: loop("@MainActor func f()", "receiver.f()"))
        expect("func `in`()", becomes: loop("func `in`()", "receiver.`in`()", of: "`in`"))
    }

    @Test func `parameters are passed on with their labels`() {
        expect("func f(a: Int, _ b: Int)", becomes: loop("func f(a: Int, _ b: Int)", "receiver.f(a: a, b)"))
        expect(
            "func f(_: Int, c _: Int)",
            becomes: loop(
                "func f(_ argument1: Int, c argument2: Int)", "receiver.f(argument1, c: argument2)"))
        expect("func f(in: Int)", becomes: loop("func f(in argument1: Int)", "receiver.f(in: argument1)"))
        expect("func f(`let`: Int)", becomes: loop("func f(`let`: Int)", "receiver.f(let: `let`)"))
        expect("func f(`inout`: Int)", becomes: loop("func f(`inout`: Int)", "receiver.f(`inout`: `inout`)"))
        expect("func f(`self`: Int)", becomes: loop("func f(`self` argument1: Int)", "receiver.f(self: argument1)"))
        expect("func f(self: Int)", becomes: loop("func f(self argument1: Int)", "receiver.f(self: argument1)"))
        expect("func f(_ a: inout Int)", becomes: loop("func f(_ a: inout Int)", "receiver.f(&a)"))
        expect("func f(_ a: borrowing A)", becomes: loop("func f(_ a: borrowing A)", "receiver.f(a)"))
        expect("func f(_ a: some A)", becomes: loop("func f(_ a: some A)", "receiver.f(a)"))
        expect(
            "func f(_ a: @autoclosure () throws -> Int) throws",
            becomes: """
                func f(_ a: @autoclosure () throws -> Int) throws {
                    var failures: [any Swift.Error] = []
                    for receiver in receivers[PMethods.f] {
                        do {
                            try receiver.f(try a())
                        } catch {
                            failures.append(error)
                        }
                    }
                    try NotifyBroadcast.BroadcastError.check(failures)
                }
                """)
        expect(
            "func f<each T>(_ a: repeat each T)",
            becomes: loop(
                "func f<each T>(_ a: repeat each T)", "receiver.f(repeat each a)"))
        expect("func f<T>(_ a: T) where T: A", becomes: loop("func f<T>(_ a: T) where T: A", "receiver.f(a)"))
    }

    @Test func `local variables of a body avoid the names of parameters`() {
        expect(
            "func f(receiver: Int, receivers: Int)",
            becomes: """
                func f(receiver: Int, receivers: Int) {
                    for receiver_ in self.receivers[PMethods.f] {
                        receiver_.f(receiver: receiver, receivers: receivers)
                    }
                }
                """)
    }

    @Test func `results are combined by their rule`() {
        expect(
            "@Combined(.collect) func f() -> [Int]",
            becomes: """
                func f() -> [Int] {
                    var answers: [Int] = []
                    for receiver in receivers[PMethods.f] {
                        answers += receiver.f()
                    }
                    return answers
                }
                """)
        expect(
            "@Combined(.first) func f() -> Int?",
            becomes: """
                func f() -> Int? {
                    for receiver in receivers[PMethods.f] {
                        if let answer = receiver.f() {
                            return answer
                        }
                    }
                    return nil
                }
                """)
        expect(
            "@Combined(.first(or: 1)) func f() -> Int",
            becomes: """
                func f() -> Int {
                    for receiver in receivers[PMethods.f] {
                        return receiver.f()
                    }
                    return 1
                }
                """)
        expect(
            "@Combined(.reduce(0, +)) func f() async -> Int",
            becomes: """
                func f() async -> Int {
                    let combine: (Int, Int) -> Int = (+)
                    var answer: Int = 0
                    for receiver in receivers[PMethods.f] {
                        answer = combine(answer, await receiver.f())
                    }
                    return answer
                }
                """)
    }

    @Test func `every spelling of an optional expands equally`() {
        for type in ["Int?", "Int!", "Optional<Int>", "Swift.Optional<Int>", "(Int?)", "sending Int?"] {
            for (rule, answer) in [(".first", "nil"), (".first(or: 1)", "1")] {
                expect(
                    "@Combined(\(rule)) func f() -> \(type)",
                    becomes: """
                        func f() -> \(type) {
                            for receiver in receivers[PMethods.f] {
                                if let answer = receiver.f() {
                                    return answer
                                }
                            }
                            return \(answer)
                        }
                        """)
            }
        }
    }

    @Test func `the types of result variables lack '!' and 'sending'`() {
        for (type, plain) in [("Int!", "Int?"), ("sending Int", "Int")] {
            expect(
                "@Combined(.reduce(1, f)) func f() -> \(type)",
                becomes: """
                    func f() -> \(type) {
                        let combine: (\(plain), \(plain)) -> \(plain) = (f)
                        var answer: \(plain) = 1
                        for receiver in receivers[PMethods.f] {
                            answer = combine(answer, receiver.f())
                        }
                        return answer
                    }
                    """)
        }
    }

    @Test func `a subscript parameter may have the name of the setter's value`() {
        let expanded = expansion(
            of: """
                @Broadcast protocol P: AnyObject {
                    @Combined(.first(or: 1)) subscript(newValue: Int) -> Int { get set }
                }
                """)
        let setter = """
                    set(newValue_) {
                        for receiver in receivers[PMethods.`subscript`] {
                            receiver[newValue] = newValue_
                        }
                    }
            """
        #expect(expanded.contains(setter), "\(expanded)")
    }

    @Test func `members of the method set have distinct names`() {
        let expanded = expansion(
            of: """
                @Broadcast protocol P: AnyObject {
                    func moved(to x: Int)
                    func moved(by x: Int)
                    func moved(by x: Double)
                    func movedTo()
                    func `in`(_ x: Int)
                    func `in`(_ x: Double)
                    @Combined(.collect) subscript(x: Int) -> [Int] { get }
                    @Combined(.collect) subscript(x: Double) -> [Int] { get }
                }
                """)
        let pattern = #/static var (\S+): PMethods/#
        let names = expanded.matches(of: pattern).map { String($0.1) }
        #expect(
            names == ["movedTo2", "movedBy", "movedBy2", "movedTo", "`in`", "in2", "`subscript`", "subscript2"])
    }

    @Test func `properties and subscripts expand to accessors`() {
        expect(
            "@Combined(.first(or: 1)) var x: Int { get set }",
            becomes: """
                var x: Int {
                    get {
                        for receiver in receivers[PMethods.x] {
                            return receiver.x
                        }
                        return 1
                    }
                    set {
                        for receiver in receivers[PMethods.x] {
                            receiver.x = newValue
                        }
                    }
                }
                """)
        expect(
            "@Combined(.first(or: 1)) subscript(i: Int, at j: Int) -> Int { get async }",
            becomes: """
                subscript(i: Int, at j: Int) -> Int {
                    get async {
                        for receiver in receivers[PMethods.`subscript`] {
                            return await receiver[i, at: j]
                        }
                        return 1
                    }
                }
                """)
    }

    @Test func `optional requirements expand to default implementations`() {
        expect(
            "@Optional @Combined(.collect) func f() async throws -> [Int]",
            becomes: "func f() async throws -> [Int] {\n    []\n}")
        expect("@Optional @Combined(.reduce(1, *)) func f() -> Int", becomes: "func f() -> Int {\n    1\n}")
        expect(
            "@Optional @Combined(.first) var x: Int? { get set }",
            becomes: """
                var x: Int? {
                    get {
                        nil
                    }
                    set {
                    }
                }
                """)
    }
}
