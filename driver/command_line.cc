// See command_line.h. CLI11 knows flags of one dash and one letter, and of two dashes: those of kOneDash are two-dash flags to it and
// are translated on their way in (readArguments) and out (spelling).
#include "driver/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "frontend/nearest.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/StringSaver.h"

namespace mxc::driver {

using frontend::didYouMean;
using frontend::Fault;

namespace {

constexpr llvm::StringRef kOneDash[] = {"###", "MD", "MF", "MT", "mcpu"};

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back((llvm::is_contained(kOneDash, name) ? "-" : "--") + name);
  return names;
}

class Formatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return is_positional ? CLI::Formatter::make_option_name(option, true) : joined(spellings(*option), ",");
  }
};

Flag describe(const CLI::Option& option) {
  Flag flag;
  flag.positional = option.get_positional();
  flag.names = flag.positional ? std::vector<std::string>{option.get_name(true)} : spellings(option);
  flag.help = option.get_description();
  flag.required = option.get_required();
  if (option.get_items_expected_max() == 0) return flag;
  flag.value = option.get_type_name();
  flag.default_value = option.get_default_str();
  if (llvm::SmallVector<llvm::StringRef> parts; llvm::StringRef(flag.value).contains('|')) {
    llvm::StringRef(flag.value).split(parts, '|');
    flag.choices.assign(parts.begin(), parts.end());
  }
  return flag;
}

Verb describe(const CLI::App& app, const std::string& name) {
  Verb verb{name, app.get_description(), {}};
  for (const CLI::Option* option : app.get_options()) verb.flags.push_back(describe(*option));
  return verb;
}

// The first word that nobody takes, and what was meant.
std::string unknownWord(const CLI::App& app) {
  const CLI::App* verb = &app;
  for (const CLI::App* chosen : app.get_subcommands()) verb = chosen;
  std::vector<std::string> extra = verb->remaining();
  if (extra.empty()) extra = app.remaining();
  auto flag = std::find_if(extra.begin(), extra.end(), [](const std::string& word) { return word.size() > 1 && word[0] == '-'; });
  if (flag == extra.end()) return "'" + extra.front() + "' is one word too many";
  std::string name = flag->substr(0, flag->find('='));
  for (llvm::StringRef one : kOneDash)
    if (name == "--" + one.str()) name = "-" + one.str();
  std::vector<std::string> known;
  for (const CLI::Option* option : verb->get_options())
    for (const std::string& spelling : spellings(*option)) known.push_back(spelling);
  return "unknown flag '" + name + "'" + didYouMean(name, known);
}

// Empty if the first word is a verb or a flag.
std::string wrongVerb(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands({})) verbs.push_back(verb->get_name());
  if (arguments.empty()) return "what is to be done? One of " + joined(verbs, ", ") + "; mxc --help says more";
  llvm::StringRef word = arguments.front();
  if (word.starts_with("-") || llvm::is_contained(verbs, word)) return "";
  if (word.ends_with(".cpp") || word.ends_with(".json"))
    return "there is no verb '" + word.str() + "'; did you mean 'mxc compile " + word.str() + "'?";
  std::string meant = didYouMean(word, verbs);
  return "there is no verb '" + word.str() + "'" + (meant.empty() ? ": one of " + joined(verbs, ", ") : meant);
}

// "-MF=out.d", "-MFout.d" and "-mcpu=native" as CLI11 is to see them.
std::string translated(llvm::StringRef word) {
  for (llvm::StringRef name : {"###", "MD"})
    if (word == "-" + name.str()) return "--" + name.str();
  for (llvm::StringRef name : {"MF", "MT", "mcpu"}) {
    llvm::StringRef rest = word;
    if (!rest.consume_front("-" + name.str())) continue;
    rest.consume_front("=");
    return "--" + name.str() + (word.size() == name.size() + 1 ? "" : "=" + rest.str());
  }
  return word.str();
}

}  // namespace

std::vector<Verb> describeCommandLine(const CLI::App& app) {
  std::vector<Verb> verbs = {describe(app, "")};
  for (const CLI::App* verb : app.get_subcommands({})) verbs.push_back(describe(*verb, verb->get_name()));
  return verbs;
}

void styleHelp(CLI::App& app) {
  auto formatter = std::make_shared<Formatter>();
  formatter->column_width(36);
  formatter->label("SUBCOMMAND", "VERB");
  formatter->label("Subcommands", "Verbs");
  formatter->label("OPTIONS", "flags");
  app.formatter(formatter);
}

std::string wrongChoice(const std::string& given, const std::vector<std::string>& choices) {
  if (llvm::is_contained(choices, given)) return "";
  return "'" + given + "' is not one of " + joined(choices, ", ") + didYouMean(given, choices);
}

CLI::Option* addChoice(CLI::App& verb, const std::string& name, std::string& value, const std::vector<std::string>& choices,
                       const std::string& help) {
  return verb.add_option(name, value, help)
      ->type_name(joined(choices, "|"))
      ->check([choices](const std::string& given) { return wrongChoice(given, choices); });
}

void addColor(CLI::App& verb, Color& color) {
  static const std::vector<std::string> kNames = {"auto", "always", "never"};
  verb.add_option_function<std::string>(
          "--color", [&color](const std::string& name) { color = static_cast<Color>(llvm::find(kNames, name) - kNames.begin()); },
          "Whether diagnostics are coloured; auto: on a terminal")
      ->type_name(joined(kNames, "|"))
      ->check([](const std::string& given) { return wrongChoice(given, kNames); })
      ->default_str("auto");
}

std::vector<std::string> readArguments(int argc, const char* const* argv, std::string& error) {
  llvm::SmallVector<const char*, 32> own, rest;
  for (int i = 1; i < argc; ++i) (rest.empty() && llvm::StringRef(argv[i]) != "--" ? own : rest).push_back(argv[i]);
  llvm::BumpPtrAllocator memory;
  llvm::cl::ExpansionContext expansion(memory, llvm::cl::TokenizeGNUCommandLine);
  if (llvm::Error wrong = expansion.expandResponseFiles(own)) error = llvm::toString(std::move(wrong));
  std::vector<std::string> arguments;
  for (const char* word : own) arguments.push_back(translated(word));
  // Nothing behind '=' is no flag without a value, which it would be to CLI11: it is read as a list of no names.
  if (!arguments.empty() && arguments.front() == "compile") std::replace(arguments.begin(), arguments.end(), std::string("--train="), std::string("--train=,"));
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  return arguments;
}

int parseCommandLine(CLI::App& app, std::vector<std::string> arguments) {
  std::string wrong = wrongVerb(app, arguments);
  try {
    // What follows a program's own verb is the program's (CLI11's prefix command); a "--" before it is allowed and says nothing more.
    if (!arguments.empty() && (arguments.front() == "run" || arguments.front() == "launch"))
      if (auto separator = std::find(arguments.begin(), arguments.end(), "--"); separator != arguments.end())
        arguments.erase(separator);
    std::reverse(arguments.begin(), arguments.end());
    if (wrong.empty()) app.parse(std::move(arguments));
  } catch (const CLI::ExtrasError&) {
    wrong = unknownWord(app);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error), kSuccess;
    wrong = error.what();
  }
  if (wrong.empty()) return -1;
  DiagnosticPrinter().error(Fault::usage, wrong);
  return kUsageWrong;
}

}  // namespace mxc::driver
