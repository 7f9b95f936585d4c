// The source of one member of the broadcaster.

extension Requirement {
    /// The method, property or subscript that calls the receivers and combines their results.
    func implementation(in model: ProtocolModel) -> String {
        let set = "\(model.methodSetName).\(memberName)"
        return declaration(access: model.access, getter: calls(of: set), setter: assignments(of: set))
    }

    /// The default implementation of an optional requirement. It returns the neutral result of the rule.
    func emptyDefault(access: String) -> String {
        let value =
            switch rule {
            case .collect: "[]"
            case .first: "nil"
            case .reduce(let initial, _): initial
            case .firstOr, nil: ""
            }
        // Unlike a protocol's requirements, members of its extension do not inherit the access level.
        return declaration(access: access, getter: value, setter: "")
    }

    private func declaration(access: String, getter: String, setter: String) -> String {
        let list = parameters.map { kind == .subscript ? $0.subscriptDeclaration : $0.declaration }
        let parameters = list.joined(separator: ", ")
        let head = "\(prefix)\(access)"
        switch kind {
        case .method:
            let arrow = result.map { " -> \($0.type)" } ?? ""
            let signature = "func \(name)\(genericParameters)(\(parameters))\(effects.specifiers)\(arrow)"
            return "\(head)\(signature)\(genericConstraints) \(block(getter))"
        case .property:
            return "\(head)var \(name): \(result?.type ?? "Swift.Void") \(block(accessors(getter, setter)))"
        case .subscript:
            let signature = "subscript\(genericParameters)(\(parameters)) -> \(result?.type ?? "Swift.Void")"
            return "\(head)\(signature)\(genericConstraints) \(block(accessors(getter, setter)))"
        }
    }

    private func accessors(_ getter: String, _ setter: String) -> String {
        let get = "get\(effects.specifiers) \(block(getter))"
        if !hasSetter { return get }
        return "\(get)\nset\(newValue == "newValue" ? "" : "(\(newValue))") \(block(setter))"
    }

    /// The name of the setter's parameter, distinct from the parameters of a subscript.
    private var newValue: String { local("newValue") }

    private func block(_ body: String) -> String {
        body.isEmpty ? "{\n}" : "{\n\(indented(body))\n}"
    }
}

// MARK: - Bodies

extension Requirement {
    /// `receiver.name(arguments)`, or the access to a property or subscript.
    private func access(to receiver: String) -> String {
        let arguments = parameters.map(\.labelledArgument).joined(separator: ", ")
        switch kind {
        case .method: return "\(receiver).\(name)(\(arguments))"
        case .property: return "\(receiver).\(name)"
        case .subscript: return "\(receiver)[\(arguments)]"
        }
    }

    /// A loop over the receivers registered for the set of methods.
    private func loop(over set: String, receiver: String, _ body: String) -> String {
        let receivers = parameters.contains { $0.name == "receivers" } ? "self.receivers" : "receivers"
        return "for \(receiver) in \(receivers)[\(set)] \(block(body))"
    }

    private func assignments(of set: String) -> String {
        let receiver = local("receiver")
        return loop(over: set, receiver: receiver, "\(access(to: receiver)) = \(newValue)")
    }

    private func calls(of set: String) -> String {
        let receiver = local("receiver")
        let (answers, failures) = (local("answers"), local("failures"))
        let (before, statement, after) = combination(
            of: effects.call + access(to: receiver), as: answers, answer: local("answer"), combine: local("combine"))
        if !effects.isThrowing {
            return lines(before, loop(over: set, receiver: receiver, statement), after)
        }
        let attempt = "do \(block(statement)) catch \(block("\(failures).append(error)"))"
        return lines(
            before, "var \(failures): [any Swift.Error] = []", loop(over: set, receiver: receiver, attempt),
            "try NotifyBroadcast.BroadcastError.check(\(failures))", after)
    }

    /// The statements that combine the results: before the loop over the receivers, in it, and after it.
    private func combination(
        of call: String, as answers: String, answer: String, combine: String
    ) -> (before: String, statement: String, after: String) {
        let type = result?.valueType ?? "Swift.Void"
        switch rule {
        case nil:
            return ("", call, "")
        case .collect:
            return ("var \(answers): \(type) = []", "\(answers) += \(call)", "return \(answers)")
        case .first:
            return ("", "if let \(answer) = \(call) \(block("return \(answer)"))", "return nil")
        case .firstOr(let other):
            let statement =
                result?.isOptional == true
                ? "if let \(answer) = \(call) \(block("return \(answer)"))" : "return \(call)"
            return ("", statement, "return \(other)")
        case .reduce(let initial, let function):
            let before = lines(
                "let \(combine): (\(type), \(type)) -> \(type) = (\(function))",
                "var \(answer): \(type) = \(initial)")
            return (before, "\(answer) = \(combine)(\(answer), \(call))", "return \(answer)")
        }
    }

    private func lines(_ parts: String...) -> String {
        parts.filter { !$0.isEmpty }.joined(separator: "\n")
    }
}

extension Parameter {
    /// The parameter in a declaration of a subscript, where a single name is not a label.
    fileprivate var subscriptDeclaration: String {
        label.map { "\($0) \(name): \(type)" } ?? "\(name): \(type)"
    }
}
