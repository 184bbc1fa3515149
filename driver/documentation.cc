// See documentation.h.
#include "driver/documentation.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "llvm/ADT/StringRef.h"

namespace mxc::driver {

namespace {

// Text that roff takes as it is: backslashes, hyphens and leading dots have meanings of their own.
std::string roff(llvm::StringRef text) {
  std::string out;
  for (char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  return !out.empty() && (out[0] == '.' || out[0] == '\'') ? "\\&" + out : out;
}

// A flag that takes its value behind "=" or, with one dash, behind a space or nothing.
std::string withValue(const Flag& flag) {
  std::string text;
  for (const std::string& name : flag.names) {
    text += (text.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
    if (!flag.value.empty() && &name == &flag.names.back())
      text += (llvm::StringRef(name).starts_with("--") ? "=\\fI" : " \\fI") + roff(flag.value) + "\\fR";
  }
  return text;
}

void writeFlags(std::string& text, const std::vector<Flag>& flags) {
  for (const Flag& flag : flags) {
    if (flag.positional) continue;
    text += ".TP\n" + withValue(flag) + "\n" + roff(flag.help);
    if (!flag.default_value.empty()) text += " (default " + roff(flag.default_value) + ")";
    text += ".\n";
  }
}

std::string synopsis(const Verb& verb) {
  std::string text = ".B mxc " + roff(verb.name) + "\n[\\fIflags\\fR]";
  for (const Flag& flag : verb.flags)
    if (flag.positional) text += (flag.required ? " \\fI" : " [\\fI") + roff(flag.names[0]) + (flag.required ? "\\fR" : "\\fR]");
  return text + "\n";
}

std::string shellQuoted(llvm::StringRef text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// All spellings of a verb's flags, with "=" behind those of two dashes that take a value.
std::string words(const Verb& verb) {
  std::string text;
  for (const Flag& flag : verb.flags)
    for (const std::string& name : flag.names)
      if (!flag.positional)
        text += (text.empty() ? "" : " ") + name + (!flag.value.empty() && llvm::StringRef(name).starts_with("--") ? "=" : "");
  return text;
}

std::string choices(const Flag& flag) {
  std::string text;
  for (const std::string& choice : flag.choices) text += (text.empty() ? "" : " ") + choice;
  return text;
}

// What zsh's _arguments asks after the flag's value.
std::string zshValue(const Flag& flag) {
  if (flag.value.empty()) return "";
  if (!flag.choices.empty()) return ":value:(" + choices(flag) + ")";
  bool path = flag.value == "FILE" || flag.value == "FOLDER";
  return ":" + llvm::StringRef(flag.value).lower() + ":" + (path ? "_files" : "");
}

// Brackets and colons separate the parts of a specification of _arguments.
std::string zshText(llvm::StringRef text) {
  std::string out;
  for (char c : text) out += c == '[' || c == ']' || c == ':' ? std::string("\\") + c : std::string(1, c);
  return out;
}

}  // namespace

std::string manualPage(const std::vector<Verb>& verbs) {
  std::string text = ".TH MXC 1 \"\" \"mxc " MXC_VERSION
                     "\" \"User Commands\"\n.SH NAME\nmxc \\- compile neural networks into native programs\n.SH SYNOPSIS\n";
  for (const Verb& verb : verbs)
    if (!verb.name.empty()) text += (&verb == &verbs[1] ? "" : ".br\n") + synopsis(verb);
  text +=
      ".SH DESCRIPTION\n" + roff(verbs[0].summary) +
      "\nA model is a C++ file with MXC_MODEL, or symbol JSON. An argument \\fB@\\fIfile\\fR stands for the words in that file.\n";
  for (const Verb& verb : verbs) {
    if (verb.name.empty()) continue;
    text += ".SH MXC " + roff(llvm::StringRef(verb.name).upper()) + "\n" + roff(verb.summary) + ".\n";
    for (const Flag& flag : verb.flags)
      if (flag.positional) text += ".PP\n\\fI" + roff(flag.names[0]) + "\\fR: " + roff(flag.help) + ".\n";
    writeFlags(text, verb.flags);
  }
  text += ".SH OTHER FLAGS\n";
  writeFlags(text, verbs[0].flags);
  text +=
      ".SH EXIT STATUS\n.TP\n.B 0\nSuccess.\n.TP\n.B 1\nThe input is wrong.\n.TP\n.B 2\nThe command line is wrong.\n.TP\n.B 3\n"
      "Something is not supported; the message names it.\n.TP\n.B 70\nAn internal error; a file to reproduce it is left.\n"
      ".PP\n\\fBmxc run\\fR ends with the exit status of the program that it runs.\n"
      ".SH EXAMPLES\n.EX\nmxc compile lenet.cpp \\-o lenet\n./lenet train \\-\\-data mnist:DIR \\-\\-epochs 3\n"
      "mxc run lenet.cpp \\-\\- info\nmxc inspect \\-\\-steps lenet\n.EE\n";
  return text;
}

std::string bashCompletion(const std::vector<Verb>& verbs) {
  std::string names, cases, values;
  for (const Verb& verb : verbs) {
    if (!verb.name.empty()) names += (names.empty() ? "" : " ") + verb.name;
    cases += "    " + (verb.name.empty() ? "''" : verb.name) + ") flags=" + shellQuoted(words(verb)) + " ;;\n";
    for (const Flag& flag : verb.flags)
      for (const std::string& name : flag.names)
        if (!flag.choices.empty())
          values += "    " + shellQuoted(verb.name + " " + name) + ") choices=" + shellQuoted(choices(flag)) + " ;;\n";
  }
  return "# Completion of mxc for bash: source it, or put it into a folder of bash-completion.\n"
         "_mxc() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before= verb= flags= choices=\n"
         "  (( COMP_CWORD > 0 )) && before=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "  (( COMP_CWORD > 1 )) && verb=${COMP_WORDS[1]}\n"
         "  # --flag=value arrives as three words, the middle one being \"=\".\n"
         "  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
         "  case \"$verb $before\" in\n" +
         values +
         "  esac\n"
         "  if [[ -n $choices ]]; then\n    COMPREPLY=($(compgen -W \"$choices\" -- \"$word\"))\n    return\n  fi\n"
         "  case $verb in\n" +
         cases +
         "  esac\n"
         "  if [[ $word == -* ]]; then\n    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
         "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
         "  elif (( COMP_CWORD == 1 )); then\n    COMPREPLY=($(compgen -W " +
         shellQuoted(names) +
         " -- \"$word\"))\n"
         "  else\n    COMPREPLY=($(compgen -f -- \"$word\"))\n    compopt -o filenames\n  fi\n"
         "}\ncomplete -F _mxc mxc\n";
}

std::string zshCompletion(const std::vector<Verb>& verbs) {
  std::string names, cases;
  for (const Verb& verb : verbs) {
    std::string specifications;
    for (const Flag& flag : verb.flags)
      for (const std::string& name : flag.names) {
        bool equals = !flag.value.empty() && llvm::StringRef(name).starts_with("--");
        if (!flag.positional)
          specifications += " \\\n        " + shellQuoted(name + (equals ? "=[" : "[") + zshText(flag.help) + "]" + zshValue(flag));
      }
    if (verb.name.empty()) {
      cases = "      *) _arguments" + specifications + " ;;\n";
      continue;
    }
    names += "    " + shellQuoted(verb.name + ":" + verb.summary) + "\n";
    cases = "      " + verb.name + ") _arguments" + specifications + " \\\n        '*:file:_files' ;;\n" + cases;
  }
  return "#compdef mxc\n# Completion of mxc for zsh: put it as _mxc into a folder of $fpath.\n_mxc() {\n  local -a verbs=(\n" +
         names +
         "  )\n  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n    _describe verb verbs\n  else\n"
         "    local verb=$words[2]\n    (( CURRENT-- ))\n    shift words\n    case $verb in\n" +
         cases + "    esac\n  fi\n}\n_mxc \"$@\"\n";
}

void addDocumentation(CLI::App& app) {
  app.add_flag_callback(
      "--man",
      [&app] {
        std::cout << manualPage(describeCommandLine(app));
        throw CLI::Success();
      },
      "Print the manual page");
  app.add_option_function<std::string>(
         "--completion",
         [&app](const std::string& shell) {
           std::vector<Verb> verbs = describeCommandLine(app);
           std::cout << (shell == "bash" ? bashCompletion(verbs) : zshCompletion(verbs));
           throw CLI::Success();
         },
         "Print the completions for a shell")
      ->type_name("bash|zsh")
      ->check([](const std::string& shell) {
        return shell == "bash" || shell == "zsh" ? "" : "'" + shell + "' is not one of bash, zsh";
      });
}

}  // namespace mxc::driver
